// Cards, controls, and trials as points: their colour and shape say where they come from.

const SYMBOLS = {
  initial_design: d3.symbolSquare, global: d3.symbolCircle, local: d3.symbolDiamond, replicate: d3.symbolStar,
  probe: d3.symbolStar, failed_option: d3.symbolWye, space_filling: d3.symbolTriangle, added: d3.symbolCross, user: d3.symbolCross,
};

const MANY = varied.length > 6; // parameters: their slices need the whole width

/** A section of the page; `bar` holds its controls. */
function card(id, title, { wide = false, note = null, short = title } = {}) {
  const bar = h("div", { class: "bar" }, h("h2", { text: title, id: `${id}-title` }));
  const body = h("div", { class: "chart" });
  const section = h("section", { class: wide ? "card wide" : "card", id, "aria-labelledby": `${id}-title`, "data-short": short }, bar, body, note ? h("p", { class: "note", text: note }) : null);
  document.getElementById("main").append(section);
  return { section, bar, body };
}

/** A group of buttons of which one is pressed. */
function choice(name, label, options, act) {
  if (!options.some(([value, , disabled]) => value === state.choice[name] && !disabled)) state.choice[name] = options.find((o) => !o[2])[0];
  const buttons = options.map(([value, text, disabled, title]) =>
    h("button", { type: "button", text, title, id: `${name}-${value}`, disabled, "aria-pressed": String(state.choice[name] === value), onclick: () => {
      state.choice[name] = value;
      for (const b of buttons) b.setAttribute("aria-pressed", String(b.id === `${name}-${value}`));
      act(value);
    } }));
  return h("span", { class: "group-of-buttons", role: "group", "aria-label": label }, ...buttons);
}

/** A list of which one is selected; options are pairs of a value and a text. */
function selection(name, label, options, value, act) {
  const select = h("select", { id: `select-${name}`, onchange: (event) => act(event.target.value) },
    ...options.map(([key, text]) => h("option", { value: key, text: shorten(text, 60) })));
  select.value = value;
  return h("label", {}, label, select);
}

function checkbox(name, label, act) {
  state.choice[name] ??= true;
  const box = h("input", { type: "checkbox", id: `check-${name}`, onchange: (event) => { state.choice[name] = event.target.checked; act(); } });
  box.checked = state.choice[name];
  return h("label", {}, box, label);
}

function symbol(source, size = 46) {
  return d3.symbol(SYMBOLS[source] ?? d3.symbolCircle, size)();
}

const CROSS = "M-4,-4L4,4M-4,4L4,-4";

/** Draw trials at (x, y) in pixels; those that failed as crosses, infeasible ones hollow. */
function drawTrials(chart, layer, shown, x, y, size = 46) {
  for (const trial of shown) {
    const px = x(trial), py = y(trial);
    if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
    const failed = trial.state === "failed";
    const kind = failed ? "failed" : trial.state === "pending" ? "pending" : trial.feasible ? trial.source : "infeasible";
    layer.append("path").attr("class", `point ${kind}`).attr("d", failed ? CROSS : symbol(trial.source, size))
      .attr("transform", `translate(${px},${py})`).attr("data-trial", trial.id);
    chart.mark(px, py, trial);
  }
}

function drawStar(layer, px, py, size = 150) {
  layer.append("path").attr("class", "star").attr("d", d3.symbol(d3.symbolStar, size)()).attr("transform", `translate(${px},${py})`);
}

/** The legend of the kinds of trials that occur, and of other marks: [class, path, text]. */
function legend(shown, others = []) {
  const kinds = Object.keys(data.sources).filter((s) => shown.some((t) => t.source === s && t.state === "complete" && t.feasible));
  const entries = kinds.map((s) => [`point ${s}`, symbol(s), data.sources[s]]);
  if (shown.some((t) => t.state === "complete" && !t.feasible)) entries.push(["point infeasible", symbol("global"), "infeasible"]);
  if (shown.some((t) => t.state === "failed")) entries.push(["point failed", CROSS, "failed"]);
  if (shown.some((t) => t.state === "pending")) entries.push(["point pending", symbol("global"), "pending"]);
  return h("ul", { class: "legend" }, ...[...entries, ...others].map(([kind, path, text]) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    d3.select(svg).attr("viewBox", "-8 -7 16 14").attr("aria-hidden", "true").append("path").attr("class", kind).attr("d", path);
    return h("li", {}, svg, text);
  }));
}

const LINE = "M-8,0L8,0", STAR = d3.symbol(d3.symbolStar, 90)(), RING = "M-6,0a6,5 0 1,0 12,0a6,5 0 1,0 -12,0";
