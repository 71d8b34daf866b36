// Local minima: value, error, and how far each parameter can move.

function drawMinima() {
  const { list, rise, leftOut } = data.minima;
  const { section, bar, body } = card("minima", `Local ${words.optima}`, { wide: true });
  if (!list.length) {
    const text = varied.some((i) => params[i].options) ? `None: with unordered options or conditional parameters, local ${words.optima} are not computed.` : "None identified yet: no local model predicts its observations well enough.";
    return body.replaceChildren(h("p", { class: "empty", text }));
  }
  const names = params.map((p) => p.name);
  const row = (m, k) => h("tr", { class: k === 0 ? "best" : null },
    h("td", { class: "number", text: k + 1 }), h("td", { class: "number", text: `${m.value} ± ${m.error}` }),
    ...m.params.map((text, i) => h("td", { class: "number", text: m.individual[i] === null ? text : `${text} ± ${format(m.individual[i], 2)}` })),
    h("td", { class: "number", text: format(m.condition, 3) }), h("td", { class: "number", text: m.points }), h("td", { text: m.converged ? "yes" : "no" }));
  const head = ["", "predicted value", ...names, "condition", "evaluations", "converged"].map((text, k) => h("th", { scope: "col", class: k < names.length + 4 ? "number" : null, text: shorten(text, 40) }));
  body.replaceChildren(h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Local ${words.optima}` }, h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...list.map(row)))));
  section.append(h("p", { class: "note", text: `± of a parameter: how far it can move alone before the value ${words.declines} by ${format(rise, 2)}, 1 % of the observed range.${leftOut ? ` ${leftOut} more ${words.optima} are not listed.` : ""}` }));
  state.choice.minimum = Math.min(Number(state.choice.minimum ?? 0), list.length - 1);
  if (list.length > 1) bar.append(selection("minimum", `error bars of ${words.optimum}`, list.map((m, k) => [k, `${k + 1}: ${m.value}`]), state.choice.minimum, (value) => { state.choice.minimum = Number(value); render(); }));
  const host = h("div", { class: "chart" });
  section.append(host);
  const svg = d3.select(host).append("svg").attr("role", "img").attr("aria-label", `Place of the ${words.optimum} in the range of each parameter, with error bars`);
  const render = () => renderMinimum(svg, host, list[state.choice.minimum]);
  new ResizeObserver(render).observe(host);
  section.append(legend([], [["dot", "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", words.optimum], ["bars-alone", LINE, "tolerance alone"], ["bars-joint", LINE, "tolerance if the others are adjusted"]]));
}

/** One line for each parameter: its range, the minimum in it, and the tolerances. */
function renderMinimum(svg, host, minimum) {
  const width = host.clientWidth, step = 34, rows = varied.filter((i) => minimum.at[i] !== null);
  if (width === 0) return;
  const left = Math.min(160, width * 0.3), right = width - Math.min(90, width * 0.2);
  svg.attr("viewBox", [0, 0, width, step * rows.length + 8]).attr("height", step * rows.length + 8).selectAll("*").remove();
  rows.forEach((i, k) => {
    const y = k * step + 20, p = params[i];
    const place = (v) => {
      const t = p.log ? Math.log(Math.max(v, p.low) / p.low) / Math.log(p.high / p.low) : (v - p.low) / (p.high - p.low);
      return left + (right - left) * Math.min(Math.max(t, 0), 1);
    };
    const value = fromFraction(i, minimum.at[i]);
    const bars = (kind, size) => size !== null && svg.append("line").attr("class", kind).attr("x1", place(value - size)).attr("x2", place(value + size)).attr("y1", y).attr("y2", y);
    svg.append("text").attr("x", left - 10).attr("y", y + 4).attr("text-anchor", "end").text(shorten(p.name, Math.floor(left / 8)));
    svg.append("line").attr("class", "track").attr("x1", left).attr("x2", right).attr("y1", y).attr("y2", y);
    bars("bars-joint", minimum.joint[i]);
    bars("bars-alone", minimum.individual[i]);
    svg.append("circle").attr("class", "dot").attr("r", 4.5).attr("cx", place(value)).attr("cy", y);
    svg.append("text").attr("class", "label").attr("x", left).attr("y", y - 7).text(format(p.low, 3));
    svg.append("text").attr("class", "label").attr("x", right).attr("y", y - 7).attr("text-anchor", "end").text(format(p.high, 3));
    svg.append("text").attr("class", "label").attr("x", right + 8).attr("y", y + 4).text(format(value, 4));
  });
}
