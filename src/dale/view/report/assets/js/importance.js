// Which parameters matter, over the whole space and near the best point.

function drawImportance() {
  const im = data.importance;
  const { section, body } = card("importance", "Importance of the parameters", {
    short: "Importance",
    note: im ? `By the surrogate, which explains ${im.explained > 0.995 ? "more than 99 %" : percent(Math.max(im.explained ?? 0, 0))} of the variance of values it has not seen. Near the best point: share in the curvature${im.nearModel ? `, by the ${im.nearModel}` : ""}.` : null,
  });
  if (!im) return body.replaceChildren(h("p", { class: "empty", text: data.modelNote || "There are too few values yet." }));
  const rows = d3.sort(im.params.map((p, k) => ({ p, main: im.main[k], total: im.total[k], near: im.near[k] })), (r) => -(r.total ?? 0));
  const svg = d3.select(body).append("svg").attr("role", "img").attr("aria-label", rows.map((r) => `${params[r.p].name}: ${percent(r.total)}`).join(", "));
  new ResizeObserver(() => renderImportance(svg, body, rows)).observe(body);
  section.append(legend([], [["bar-main", "M-8,-4h16v8h-16z", "alone"], ["bar-total", "M-8,-4h16v8h-16z", "with its interactions"], ["bar-near", "M-8,-4h16v8h-16z", "near the best point"]]));
}

function renderImportance(svg, body, rows) {
  const width = body.clientWidth, step = 40, top = 4, bottom = top + step * rows.length;
  if (width === 0) return;
  const left = Math.min(150, width * 0.32);
  const x = d3.scaleLinear([0, Math.max(1, d3.max(rows, (r) => r.total ?? 0))], [left, width - 48]);
  svg.attr("viewBox", [0, 0, width, bottom + 26]).attr("height", bottom + 26).selectAll("*").remove();
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom + 2})`).call(d3.axisBottom(x).ticks(4, "%"));
  rows.forEach((r, k) => {
    const y = top + k * step, name = params[r.p].name;
    const bar = (kind, value, at, height) => svg.append("rect").attr("class", kind).attr("x", left).attr("y", at).attr("height", height).attr("width", Math.max(x(Math.min(value ?? 0, 1)) - left, 0));
    svg.append("text").attr("x", left - 8).attr("y", y + 20).attr("text-anchor", "end").text(shorten(name, Math.floor(left / 8)));
    bar("bar-total", r.total, y + 4, 14);
    bar("bar-main", r.main, y + 4, 14);
    bar("bar-near", r.near, y + 21, 9);
    svg.append("text").attr("class", "label").attr("x", x(r.total ?? 0) + 5).attr("y", y + 15).text(percent(r.total && Math.round(1000 * r.total) / 1000));
    const row = svg.append("rect").attr("class", "catch").attr("x", 0).attr("y", y).attr("width", width).attr("height", step).attr("fill", "transparent");
    row.on("pointermove", (event) => showTip([[name, ""], ["alone", percent(r.main)], ["with its interactions", percent(r.total)], ["near the best point", percent(r.near)]], event.clientX, event.clientY)).on("pointerleave", hideTip);
  });
}
