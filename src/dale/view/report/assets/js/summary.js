// The summary, the parameters, and the command that makes the run again.

function drawHead() {
  document.title = `${data.title}: ${data.summary.status}`;
  const head = document.getElementById("head");
  const updated = h("span", { class: "updated" });
  const tick = () => { updated.textContent = `written ${age()}`; };
  head.append(h("h1", { text: data.title }), h("span", { class: data.live ? "state live" : "state", id: "status", text: data.summary.status }), updated);
  tick();
  setInterval(tick, 1000);
}

function drawNavigation() {
  const sections = [...document.querySelectorAll("main > section")];
  const links = sections.map((s) => h("a", { href: `#${s.id}`, text: s.dataset.short }));
  document.getElementById("head").after(h("nav", { "aria-label": "Sections" }, ...links));
}

function pairs(rows) {
  return h("dl", { class: "pairs" }, ...rows.flatMap(([name, value]) => [h("dt", { text: name }), h("dd", { text: value })]));
}

/** Numbers with a minus sign, at which no browser breaks a line. */
function unbroken(text) {
  return text.replace(/(\de)-(\d)/g, "$1−$2");
}

function group(title, given) {
  const lines = given.map(unbroken);
  return h("div", { class: "group" }, h("h3", { text: title }), lines.length === 1 ? h("p", { text: lines[0] }) : h("ul", {}, ...lines.map((text) => h("li", { text }))));
}

function drawSummary() {
  const { best, sure, limits, next, lines } = data.summary;
  const { body } = card("summary", "Summary", { wide: true });
  body.className = "";
  const found = best
    ? h("div", {}, h("h3", { text: best.noisy ? "Best value (posterior mean)" : "Best value" }), h("p", { class: "value", id: "best-value", text: best.value.replace("-", "−") }),
      h("p", { class: "note" }, "found in ", h("button", { type: "button", class: "open", id: "best-trial", text: `trial ${best.trial}`, onclick: () => showDetails(trials[best.trial]) })), pairs(best.params))
    : h("div", {}, h("h3", { text: "Best value" }), h("p", { class: "value", id: "best-value", text: "none yet" }));
  body.append(
    h("div", { class: "summary" }, found, h("div", {}, group("How sure", sure)), h("div", {}, group("What limits it", limits), group("What to do next", next))),
    h("div", { class: "lines" }, pairs(lines)));
}

function drawAgain() {
  const { body } = card("again", "Run it again", { wide: true });
  body.className = "summary";
  const code = h("pre", { id: "command", tabindex: 0, "aria-label": "Command that makes the run again", text: data.again.text });
  const copy = h("button", { type: "button", text: "Copy", id: "copy", onclick: async () => {
    try {
      await navigator.clipboard.writeText(data.again.text);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  } });
  const left = h("div", {}, code, h("p", { class: "note" }, copy), ...data.again.notes.map((text) => h("p", { class: "note", text })));
  left.style.gridColumn = "span 2";
  if (!window.matchMedia("(min-width: 760px)").matches) left.style.gridColumn = "auto";
  body.append(left, h("div", {}, h("h3", { text: "Parameters" }), pairs(params.map((p) => [p.name, p.text])), h("div", { class: "lines" }, pairs(data.facts))));
}

function drawFoot() {
  document.getElementById("foot").append(
    `Written by dale ${data.version}. The page is one file: it loads nothing and sends nothing. `,
    "Charts are drawn with D3 (copyright 2010-2026 Mike Bostock, ISC licence, whose text is in the source of this page). ",
    "Colours are those of Okabe and Ito.");
}
