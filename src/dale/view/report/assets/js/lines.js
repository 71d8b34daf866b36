// Slices of the surrogate through the best point, one for each parameter.

function drawLines() {
  const lines = data.model?.lines ?? [];
  const { bar, body, section } = card("slices", "Slices through the best point", {
    short: "Slices",
    wide: MANY,
    note: lines.length ? "The line is the surrogate with two standard deviations; all other parameters are those of the best trial. The points are all trials, projected: most of them lie outside of the slice." : null,
  });
  if (!lines.length) return body.replaceChildren(h("p", { class: "empty", text: data.modelNote }));
  bar.append(checkbox("sliceTrials", "trials", () => charts.forEach((c) => c.render())));
  body.className = "tiles";
  const range = sliceRange(lines);
  const charts = lines.map((line) => {
    const host = h("div", { class: "chart" });
    const through = bestTrial && line.base !== bestTrial.id ? ` (through trial ${line.base})` : "";
    body.append(h("div", {}, through ? h("h3", { text: through.trim() }) : null, host));
    return new Chart({
      name: `slice-${line.params[0]}`, host, height: 210, zoom: false, left: 52, label: `Slice along ${params[line.params[0]].name}`,
      axesOf: () => ({ x: { ...paramAxis(line.params[0]), optionLength: 9 }, y: { domain: range, label: "" } }),
      draw: (c) => drawLine(c, line),
    });
  });
  const others = [["model", LINE, "surrogate"], ["star", STAR, "best"]];
  if (lines.some((l) => l.feasible)) others.push(["model infeasible", LINE, "probably infeasible"]);
  section.append(legend([], others));
}

/** One range for all slices, so that they can be compared; few bad values must not flatten it. */
function sliceRange(lines) {
  const ends = lines.flatMap((l) => l.mean.flatMap((m, k) => (m === null ? [] : [sign * m - 2 * l.std[k], sign * m + 2 * l.std[k]])));
  const values = trials.filter((t) => t.value !== null && !t.outlier && !t.elsewhere).map((t) => sign * t.value).sort(d3.ascending);
  const cut = d3.quantileSorted(values, 0.9);
  const means = lines.flatMap((l) => l.mean.filter((m) => m !== null).map((m) => sign * m));
  const low = Math.min(values[0], d3.quantile(ends, 0.02)), high = Math.max(d3.max(means), Math.min(d3.max(ends), cut));
  return padded([Math.max(low, d3.min(means) - (high - d3.min(means))), high].map((v) => sign * v).sort(d3.ascending));
}

function drawLine(chart, line) {
  const i = line.params[0], { x, y, g } = chart, axis = line.axes[0];
  const points = axis.map((v, k) => ({ v, mean: line.mean[k], std: line.std[k], ok: !line.feasible || line.feasible[k] >= 0.5 })).filter((p) => p.mean !== null);
  if (params[i].options) {
    for (const p of points) {
      g.append("rect").attr("class", "band").attr("x", x(p.v) - 9).attr("width", 18).attr("y", y(p.mean + 2 * p.std)).attr("height", Math.max(y(p.mean - 2 * p.std) - y(p.mean + 2 * p.std), 0));
      g.append("path").attr("class", p.ok ? "model" : "model infeasible").attr("d", `M${x(p.v) - 9},${y(p.mean)}h18`);
    }
  } else {
    g.append("path").attr("class", "band").attr("d", d3.area((p) => x(p.v), (p) => y(p.mean - 2 * p.std), (p) => y(p.mean + 2 * p.std))(points));
    g.append("path").attr("class", "model").attr("d", d3.line((p) => x(p.v), (p) => y(p.mean))(points));
    g.append("path").attr("class", "model infeasible").attr("d", d3.line((p) => x(p.v), (p) => y(p.mean)).defined((p) => !p.ok)(points));
  }
  if (state.choice.sliceTrials) {
    for (const t of trials) {
      if (t.value === null || t.outlier || t.elsewhere || t.at[i] === null) continue;
      const px = x(jitter(i, t, 0)), py = y(t.value);
      chart.over.append("circle").attr("class", "point plain").attr("r", 2.2).attr("cx", px).attr("cy", py);
      chart.mark(px, py, t);
    }
  }
  for (const p of points) chart.mark(x(p.v), y(p.mean), null, () => [["model", `${format(p.mean, 5)} ± ${format(p.std, 2)}`], [params[i].name, paramText(i, p.v, 4)]]);
  const base = trials[line.base];
  if (line.at[0] !== null && base.value !== null) drawStar(chart.over, x(line.at[0]), y(base.mean ?? base.value), 110);
}
