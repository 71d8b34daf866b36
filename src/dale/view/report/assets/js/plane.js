// The surrogate over any two parameters, with trials, regions and local minima.

const LEVELS = 16, CIRCLE = 90;
const ramp = (t) => d3.interpolateYlGnBu(0.95 - 0.85 * t); // dark where values are low

function drawPlane() {
  const planes = data.model?.planes ?? [];
  const { section, bar, body } = card("plane", "Model over two parameters", {
    short: "Model",
    note: planes.length ? `All other parameters are those of the best trial. Drag to zoom. ${leftOutNote()}` : null,
  });
  if (!planes.length) {
    const why = data.modelNote || "There is only one parameter that varies: see the slices.";
    return body.replaceChildren(h("p", { class: "empty", text: why }));
  }
  const paired = [...new Set(planes.flatMap((p) => p.params))].sort(d3.ascending);
  const chosen = Object.assign(state.choice, { planeKind: "mean", planeTrials: true, planeRegions: true, ...state.choice });
  if (!paired.includes(chosen.planeX) || !paired.includes(chosen.planeY) || chosen.planeX === chosen.planeY) [chosen.planeX, chosen.planeY] = firstPlane(planes).params;
  const options = paired.map((i) => [i, params[i].name]);
  const pick = (one, other) => (value) => {
    if (Number(value) === chosen[other]) chosen[other] = chosen[one];
    chosen[one] = Number(value);
    document.getElementById("select-planeX").value = chosen.planeX;
    document.getElementById("select-planeY").value = chosen.planeY;
    redraw();
  };
  const redraw = () => {
    chart.mode = `${chosen.planeX},${chosen.planeY}`;
    chart.render();
  };
  const scaleBar = h("div", { class: "note" });
  const chart = new Chart({
    name: "plane", host: body, height: 450, label: "Model over two parameters", mode: `${chosen.planeX},${chosen.planeY}`,
    axesOf: () => ({ x: paramAxis(chosen.planeX), y: paramAxis(chosen.planeY) }),
    draw: (c) => drawSection(c, orient(planes, chosen.planeX, chosen.planeY), scaleBar),
    hover: (x, y) => gridLines(orient(planes, chosen.planeX, chosen.planeY), x, y),
  });
  bar.append(
    selection("planeX", "x", options, chosen.planeX, pick("planeX", "planeY")),
    selection("planeY", "y", options, chosen.planeY, pick("planeY", "planeX")),
    selection("planeKind", "show", [["mean", "mean"], ["std", "standard deviation"]], chosen.planeKind, (value) => { chosen.planeKind = value; chart.render(); }),
    checkbox("planeTrials", "trials", () => chart.render()), checkbox("planeRegions", "regions", () => chart.render()), chart.buttons());
  section.append(scaleBar, legend(trials.filter(isFinished), [
    ["star", STAR, "best"], ["minimum", RING, `local ${words.optimum} (ring: ${words.ring} of the range; dashed: in another section)`],
    ...(data.regions.length ? [["floor", RING, "trust region (dotted: closed)"]] : [])]));
}

/** The section to show first: that of the two most important parameters which are active everywhere in it. */
function firstPlane(planes) {
  const effect = (i) => data.importance?.total[data.importance.params.indexOf(i)] ?? 0;
  const whole = planes.filter((p) => !p.mean.includes(null));
  return d3.greatest(whole.length ? whole : planes, (p) => effect(p.params[0]) + effect(p.params[1]));
}

function leftOutNote() {
  return data.model.leftOut.length ? `Left out, because they matter less: ${data.model.leftOut.join(", ")}.` : "";
}

/** The section over parameters i and j, with i on the x axis. */
function orient(planes, i, j) {
  const plane = planes.find((p) => p.params.includes(i) && p.params.includes(j));
  const [xs, ys] = plane.axes;
  if (plane.params[0] === i) return { ...plane, xs, ys, i, j, pick: (values, a, b) => values[b * xs.length + a] };
  return { ...plane, xs: ys, ys: xs, i, j, at: [plane.at[1], plane.at[0]], pick: (values, a, b) => values[a * xs.length + b] };
}

function field(plane, values) {
  return plane.ys.flatMap((_, b) => plane.xs.map((__, a) => plane.pick(values, a, b)));
}

function gridLines(plane, x, y) {
  const near = (axis, v, log) => d3.leastIndex(axis, (u) => (log ? Math.abs(Math.log(u / v)) : Math.abs(u - v)));
  const a = near(plane.xs, x, params[plane.i].log), b = near(plane.ys, y, params[plane.j].log);
  const mean = plane.pick(plane.mean, a, b);
  if (mean === null) return null;
  const lines = [["model", `${format(mean, 5)} ± ${format(plane.pick(plane.std, a, b), 2)}`],
    [params[plane.i].name, paramText(plane.i, plane.xs[a], 4)], [params[plane.j].name, paramText(plane.j, plane.ys[b], 4)]];
  if (plane.feasible) lines.push(["probability of feasibility", format(plane.pick(plane.feasible, a, b), 2)]);
  return lines;
}

function drawSection(chart, plane, scaleBar) {
  const kind = state.choice.planeKind;
  const values = field(plane, plane[kind]);
  const [low, high] = d3.extent(values.filter((v) => v !== null));
  const smooth = !params[plane.i].options && !params[plane.j].options && values.every((v) => v !== null) && plane.xs.length > 2 && plane.ys.length > 2;
  const power = kind === "mean" ? 2 : 1; // finer where values are good
  const share = (k) => (data.maximize ? 1 - (1 - k / LEVELS) ** power : (k / LEVELS) ** power);
  const levels = d3.range(LEVELS).map((k) => low + (high - low) * share(k));
  const colour = (v) => ramp((d3.bisectRight(levels, v) - 1) / (LEVELS - 1));
  if (smooth && high > low) drawContours(chart, plane, values, levels);
  else drawCells(chart, plane, values, (v) => (high > low ? colour(v) : ramp(0.5)));
  if (plane.feasible && smooth) drawForbidden(chart, plane);
  if (state.choice.planeRegions) drawRegions(chart, plane);
  if (state.choice.planeTrials) {
    const shown = trials.filter((t) => isFinished(t) && t.at[plane.i] !== null && t.at[plane.j] !== null);
    drawTrials(chart, chart.over, shown, (t) => chart.x(jitter(plane.i, t, 0)), (t) => chart.y(jitter(plane.j, t, 1)), 32);
  }
  if (plane.at[0] !== null && plane.at[1] !== null) drawStar(chart.over, chart.x(plane.at[0]), chart.y(plane.at[1]));
  describeScale(scaleBar, kind, levels, high);
}

/** Spread points of the same option a little, always in the same way. */
function jitter(i, trial, k) {
  return params[i].options ? trial.at[i] + 0.5 * (((trial.id * (k ? 0.7548776662 : 0.5698402910)) % 1) - 0.5) : trial.at[i];
}

function describeScale(host, kind, levels, high) {
  const stops = d3.range(24).map((k) => h("i", {}));
  stops.forEach((node, k) => { node.style.background = ramp(k / 23); node.style.flex = "1"; });
  const strip = h("div", { class: "ramp", "aria-hidden": "true" }, ...stops);
  strip.style.display = "flex";
  const middle = levels[Math.floor(LEVELS / 2)];
  const row = h("div", {}, ...[levels[0], middle, high].map((v) => h("span", { text: format(v, 4) })));
  Object.assign(row.style, { display: "flex", justifyContent: "space-between" });
  host.replaceChildren(strip, row, h("div", { text: kind === "mean" ? `${data.objective}, mean of the surrogate` : "standard deviation of the surrogate" }));
}

/** The value at a fractional index of an axis; beyond its ends, extrapolated. */
function along(axis, log, index) {
  const k = Math.min(Math.max(Math.floor(index), 0), axis.length - 2), t = index - k;
  return log ? axis[k] * (axis[k + 1] / axis[k]) ** t : axis[k] + (axis[k + 1] - axis[k]) * t;
}

function gridPath(chart, plane) {
  return d3.geoPath(d3.geoTransform({
    point(a, b) {
      this.stream.point(chart.x(along(plane.xs, params[plane.i].log, a - 0.5)), chart.y(along(plane.ys, params[plane.j].log, b - 0.5)));
    },
  }));
}

function drawContours(chart, plane, values, levels) {
  const contours = d3.contours().size([plane.xs.length, plane.ys.length]).thresholds(levels)(values);
  const path = gridPath(chart, plane);
  chart.g.append("g").attr("class", "contours").selectAll("path").data(contours).join("path").attr("d", path)
    .attr("fill", (_, k) => ramp(k / (LEVELS - 1))).attr("stroke", "#fff").attr("stroke-opacity", 0.25);
}

function drawForbidden(chart, plane) {
  const values = field(plane, plane.feasible).map((v) => 0.5 - v);
  const contours = d3.contours().size([plane.xs.length, plane.ys.length]).thresholds([0])(values);
  const hatch = chart.svg.append("defs").append("pattern").attr("id", "hatch").attr("class", "hatch").attr("width", 7).attr("height", 7).attr("patternUnits", "userSpaceOnUse");
  hatch.append("path").attr("d", "M0,7L7,0");
  chart.g.append("path").attr("class", "forbidden").attr("d", gridPath(chart, plane)(contours[0]));
}

function drawCells(chart, plane, values, colour) {
  const edges = (axis, i) => {
    const { options, log } = params[i];
    if (options) return [...axis.map((v) => v - 0.5), axis.length - 0.5];
    if (axis.length === 1) return paramAxis(i).domain;
    return d3.range(axis.length + 1).map((k) => along(axis, log, k - 0.5));
  };
  const ex = edges(plane.xs, plane.i).map(chart.x), ey = edges(plane.ys, plane.j).map(chart.y);
  const cells = chart.g.append("g").attr("class", "contours");
  values.forEach((v, k) => {
    if (v === null) return;
    const a = k % plane.xs.length, b = Math.floor(k / plane.xs.length);
    cells.append("rect").attr("x", ex[a]).attr("y", ey[b + 1]).attr("width", Math.max(ex[a + 1] - ex[a] + 0.4, 0)).attr("height", Math.max(ey[b] - ey[b + 1] + 0.4, 0)).attr("fill", colour(v));
  });
}

/** The value of parameter i at a fraction of its axis. */
function fromFraction(i, t) {
  const { low, high, log } = params[i];
  return log ? low * (high / low) ** t : low + (high - low) * t;
}

/** The curve {c + L (cos, sin)}, with L L' the matrix [[a, b], [b, d]]; null if that is no ellipse. */
function ellipse(chart, plane, center, [a, b, d]) {
  if (center.includes(null) || !(a > 0) || !(a * d - b * b > 0)) return null;
  const l11 = Math.sqrt(a), l21 = b / l11, l22 = Math.sqrt(d - l21 * l21);
  const points = d3.range(CIRCLE).map((k) => {
    const c = Math.cos((2 * Math.PI * k) / CIRCLE), s = Math.sin((2 * Math.PI * k) / CIRCLE);
    return [chart.x(fromFraction(plane.i, center[0] + l11 * c)), chart.y(fromFraction(plane.j, center[1] + l21 * c + l22 * s))];
  });
  return d3.line().curve(d3.curveLinearClosed)(points);
}

function drawRegions(chart, plane) {
  const { i, j } = plane;
  for (const region of data.regions) {
    const M = region.matrix;
    const path = ellipse(chart, plane, [region.at[i], region.at[j]], [M[i][i], M[i][j], M[j][j]]);
    if (!path) continue;
    chart.g.append("path").attr("class", "region-back").attr("d", path);
    chart.g.append("path").attr("class", region.closed ? "region closed" : "region").attr("d", path);
  }
  for (const minimum of data.minima.list) {
    const H = minimum.hessian, det = H[i][i] * H[j][j] - H[i][j] ** 2, r = 2 * data.minima.rise;
    const path = ellipse(chart, plane, [minimum.at[i], minimum.at[j]], [(r * H[j][j]) / det, (-r * H[i][j]) / det, (r * H[i][i]) / det]);
    const px = chart.x(fromFraction(i, minimum.at[i])), py = chart.y(fromFraction(j, minimum.at[j]));
    if (path) chart.g.append("path").attr("class", inSection(minimum, plane) ? "minimum ring" : "minimum ring away").attr("d", path);
    if (Number.isFinite(px) && Number.isFinite(py)) chart.g.append("path").attr("class", "minimum").attr("d", `M${px - 5},${py}h10M${px},${py - 5}v10`);
  }
}

/** Whether all other parameters of a minimum are nearly those of the section. */
function inSection(minimum, plane) {
  return varied.every((k) => {
    if (k === plane.i || k === plane.j || params[k].options) return true;
    const { low, high, log } = params[k], at = trials[plane.base].at[k];
    if (at === null) return true;
    const t = log ? Math.log(at / low) / Math.log(high / low) : (at - low) / (high - low);
    return Math.abs(t - minimum.at[k]) <= 0.05;
  });
}
