// What the reader has chosen, kept while the page of a run in progress reloads itself.

const MIN_RELOAD = 2000, MAX_RELOAD = 60000, QUIET = 1500, TYPING = 6000; // milliseconds
const stateKey = `dale:${location.pathname}`;
const state = Object.assign({ zoom: {}, choice: {}, open: [], table: {}, scroll: 0, focus: null }, readState());
let lastAction = 0;

function readState() {
  if (!["reload", "back_forward"].includes(performance.getEntriesByType("navigation")[0]?.type)) return {};
  try {
    return JSON.parse(sessionStorage.getItem(stateKey)) ?? {};
  } catch {
    return {}; // storage may be forbidden; then the page starts afresh
  }
}

function saveState() {
  state.scroll = window.scrollY;
  state.focus = document.activeElement?.id || null;
  try {
    sessionStorage.setItem(stateKey, JSON.stringify(state));
  } catch {
    // as above
  }
}

/** Put the page back to where it was before it reloaded itself. */
function restorePlace() {
  if (performance.getEntriesByType("navigation")[0]?.type !== "reload") return;
  const focused = state.focus ? document.getElementById(state.focus) : null;
  focused?.focus({ preventScroll: true });
  if (focused?.type === "search") focused.setSelectionRange(focused.value.length, focused.value.length);
  window.scrollTo(0, state.scroll);
}

/** Reload while the run is in progress: often while the page is new, seldom when nobody writes it any more. */
function scheduleReload() {
  window.addEventListener("pagehide", saveState);
  if (!data.live) return;
  history.scrollRestoration = "manual";
  for (const kind of ["pointerdown", "keydown", "wheel", "input"]) {
    window.addEventListener(kind, () => { lastAction = Date.now(); }, { passive: true });
  }
  const wait = () => Math.min(Math.max((Date.now() - data.written) / 10, MIN_RELOAD), MAX_RELOAD);
  const reload = () => {
    const quiet = document.activeElement?.matches("select, input") ? TYPING : QUIET; // a list may be open
    const busy = document.hidden || Date.now() - lastAction < quiet || document.getElementById("details").open;
    if (busy) setTimeout(reload, 500);
    else {
      saveState();
      location.reload();
    }
  };
  setTimeout(reload, wait());
}

/** How long ago the page was written. */
function age() {
  const seconds = Math.max(0, Math.round((Date.now() - data.written) / 1000));
  if (seconds < 90) return `${seconds} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86400)} days ago`;
}
