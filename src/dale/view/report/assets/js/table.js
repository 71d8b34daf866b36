// All trials as a table that can be sorted and filtered, each with its reason and, if it failed, its error.

const PAGE = 50; // rows

function showDetails(trial) {
  const dialog = document.getElementById("details");
  const close = h("button", { type: "button", text: "Close", onclick: () => dialog.close() });
  const find = h("button", { type: "button", text: "Show in the table", onclick: () => { dialog.close(); openInTable(trial); } });
  dialog.setAttribute("aria-label", `Trial ${trial.id}`);
  dialog.replaceChildren(h("h2", { text: `Trial ${trial.id}` }), detailsOf(trial), h("div", { class: "pages" }, close, find));
  hideTip();
  dialog.showModal();
}

function detailsOf(trial) {
  const rows = [["Value", outcome(trial)]];
  if (trial.mean !== null) rows.push(["Posterior mean", format(trial.mean)]);
  rows.push(["Proposed by", data.sources[trial.source]], ["Reason", trial.reason]);
  if (trial.predicted !== null) {
    const error = trial.value === null || !(trial.std > 0) ? null : (trial.value - trial.predicted) / trial.std;
    const came = error === null ? "" : `; the value is ${format(Math.abs(error), 2)} standard deviations ${error > 0 ? "above" : "below"}`;
    rows.push(["Predicted", `${format(trial.predicted)} ± ${format(trial.std, 2)}${came}`]);
  }
  if (trial.constraints.length) rows.push(["Constraints", trial.constraints.map((c) => format(c, 4)).join(", ") + " (at most 0 where satisfied)"]);
  for (const [key, text] of trial.extra) rows.push([`Extra: ${key}`, text]);
  const point = params.map((p, i) => [p.name, paramText(i, trial.at[i], 9)]);
  if (data.store) rows.push(["Explain", `dale why ${data.store} ${trial.id}`]);
  return h("div", { class: "detail-body" }, pairs([...rows, ...timesOf(trial)]), h("div", {}, h("h3", { text: "Point" }), pairs(point)),
    trial.error === null ? null : h("div", {}, h("h3", { text: "Error" }), h("pre", { tabindex: 0, "aria-label": "Error", text: trial.error })));
}

const COLUMNS = [
  { key: "id", text: "trial", number: true, of: (t) => t.id },
  { key: "value", text: data.objective, number: true, of: (t) => t.value, show: (t) => (t.value === null ? t.state : format(t.value, 8)) },
  ...params.map((p, i) => ({ key: `p${i}`, text: p.name, number: !p.options, of: (t) => t.at[i], show: (t) => (t.at[i] === null ? "" : shorten(paramText(i, t.at[i]), 30)) })),
  { key: "source", text: "proposed by", of: (t) => data.sources[t.source] },
  { key: "reason", text: "reason", of: (t) => t.reason, short: true },
];

function drawTable() {
  const { body } = card("trials", "Trials", { wide: true });
  body.className = "trials";
  const table = Object.assign(state.table, { sort: state.table.sort ?? "id", down: state.table.down ?? true, page: state.table.page ?? 0, text: state.table.text ?? "", state: state.table.state ?? "", source: state.table.source ?? "" });
  const rows = h("tbody", {}), count = h("span", { class: "note", id: "count", role: "status" });
  const heads = COLUMNS.map((c) => h("th", { scope: "col", class: c.number ? "number" : null }, h("button", { type: "button", id: `sort-${c.key}`, onclick: () => {
    table.down = table.sort === c.key ? !table.down : c.key === "id";
    table.sort = c.key;
    table.page = 0;
    render();
  } })));
  const previous = h("button", { type: "button", text: "Previous", id: "previous", onclick: () => { table.page -= 1; render(); } });
  const following = h("button", { type: "button", text: "Next", id: "following", onclick: () => { table.page += 1; render(); } });
  const render = () => renderTable(table, { rows, count, heads, previous, following });
  const search = h("input", { type: "search", id: "filter", placeholder: "text, or depth > 3", "aria-label": "Filter trials by text, or by a condition such as depth > 3", oninput: (event) => { table.text = event.target.value; table.page = 0; render(); } });
  search.value = table.text;
  const only = (key, label, options) => selection(`table-${key}`, label, [["", "all"], ...options], table[key], (value) => { table[key] = value; table.page = 0; render(); });
  const sources = [...new Set(trials.map((t) => t.source))].map((s) => [s, data.sources[s]]);
  body.append(
    h("div", { class: "filters" }, search, only("state", "state", [["complete", "complete"], ["failed", "failed"], ["pending", "pending"], ["discarded", "discarded"], ["infeasible", "infeasible"]]), only("source", "proposed by", sources), count),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Trials" }, h("table", { id: "table" }, h("thead", {}, h("tr", {}, ...heads)), rows)),
    h("div", { class: "pages" }, previous, following));
  openInTable = (trial) => {
    Object.assign(table, { text: "", state: "", source: "", sort: "id", down: true });
    search.value = "";
    for (const key of ["state", "source"]) document.getElementById(`select-table-${key}`).value = "";
    table.page = Math.floor((trials.length - 1 - trial.id) / PAGE);
    if (!state.open.includes(trial.id)) state.open.push(trial.id);
    render();
    document.getElementById(`open-${trial.id}`).focus();
  };
  render();
}

let openInTable = () => {};

const CONDITION = /^\s*(.+?)\s*(<=|>=|<|>|=)\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*$/i;
const COMPARE = { "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "=": (a, b) => a === b };

/** Whether a trial passes the filter: text that it contains, or a condition on a column of numbers. */
function filterOf(text) {
  const [, name, sign, number] = CONDITION.exec(text) ?? [];
  const column = name && COLUMNS.find((c) => c.number && (c.text === name || (c.key === "value" && name === "value")));
  if (column) return (t) => column.of(t) !== null && COMPARE[sign](column.of(t), Number(number));
  const wanted = text.trim().toLowerCase();
  return (t) => !wanted || [t.id, t.state, data.sources[t.source], t.reason, t.error ?? "", ...params.map((p, i) => `${p.name}=${paramText(i, t.at[i])}`)].some((s) => String(s).toLowerCase().includes(wanted));
}

function renderTable(table, { rows, count, heads, previous, following }) {
  const passes = filterOf(table.text);
  const kept = trials.filter((t) => passes(t) && (!table.source || t.source === table.source) && (!table.state || (table.state === "infeasible" ? t.state === "complete" && !t.feasible : t.state === table.state)));
  const column = COLUMNS.find((c) => c.key === table.sort) ?? COLUMNS[0];
  const sign = table.down ? -1 : 1;
  kept.sort((a, b) => {
    const [x, y] = [column.of(a), column.of(b)];
    if (x === null || y === null) return (x === null) - (y === null) || a.id - b.id; // those without a value last
    return sign * (typeof x === "string" ? x.localeCompare(y) : x - y) || a.id - b.id;
  });
  const pages = Math.max(1, Math.ceil(kept.length / PAGE));
  table.page = Math.min(Math.max(table.page, 0), pages - 1);
  const shown = kept.slice(table.page * PAGE, (table.page + 1) * PAGE);
  COLUMNS.forEach((c, k) => {
    const sorted = c.key === table.sort;
    heads[k].setAttribute("aria-sort", sorted ? (table.down ? "descending" : "ascending") : "none");
    heads[k].firstChild.textContent = `${shorten(c.text, 28)}${sorted ? (table.down ? " ↓" : " ↑") : ""}`;
  });
  rows.replaceChildren(...shown.flatMap((t) => rowsOf(t, () => renderTable(table, { rows, count, heads, previous, following }))));
  const from = kept.length ? table.page * PAGE + 1 : 0;
  count.textContent = `${from} to ${from + shown.length - (kept.length ? 1 : 0)} of ${kept.length}${kept.length < trials.length ? ` (${trials.length} in all)` : ""}`;
  previous.disabled = table.page === 0;
  following.disabled = table.page >= pages - 1;
}

/** The row of a trial, and below it its details if it is open. */
function rowsOf(trial, render) {
  const open = state.open.includes(trial.id);
  const toggle = () => {
    state.open = open ? state.open.filter((id) => id !== trial.id) : [...state.open, trial.id];
    render();
    document.getElementById(`open-${trial.id}`)?.focus({ preventScroll: true });
  };
  const cells = COLUMNS.map((c) => {
    if (c.key === "id") return h("td", { class: "number" }, h("button", { type: "button", class: "open", id: `open-${trial.id}`, "aria-expanded": String(open), text: `${open ? "▾" : "▸"} ${trial.id}` }));
    if (c.key === "source") return h("td", {}, h("span", { class: `pill ${trial.source}`, text: data.sources[trial.source] }));
    const text = c.show ? c.show(trial) : c.of(trial);
    const failed = c.key === "value" && trial.state === "failed" ? " failed" : "";
    return h("td", { class: c.number ? `number${failed}` : c.short ? "short" : null, text: c.key === "value" && trial.value !== null && !trial.feasible ? `${text} (infeasible)` : text });
  });
  const row = h("tr", { class: trial === bestTrial ? "row best" : "row", "data-trial": trial.id, onclick: toggle }, ...cells);
  return open ? [row, h("tr", {}, h("td", { class: "detail", colspan: COLUMNS.length }, detailsOf(trial)))] : [row];
}
