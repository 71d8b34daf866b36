// What the models predicted for their own proposals, and what came.

function drawPredictions() {
  const shown = (data.calibration?.trial ?? []).map((id) => trials[id]);
  const { section, bar, body } = card("predictions", "Predicted against actual", { note: calibrationText(), short: "Predictions" });
  if (!shown.length) return body.replaceChildren(h("p", { class: "empty", text: "No proposal of a model has been evaluated yet." }));
  const all = shown.flatMap((t) => [t.value, t.predicted]).sort((a, b) => sign * (a - b));
  const [low, high] = [all[0], d3.quantileSorted(all, 0.97)].sort(d3.ascending);
  const positive = d3.min(all) > 0;
  const control = choice("predictionScale", "Scale of the values", [["linear", "Linear"], ["log", "Log", !positive, positive ? "Logarithm of the value" : "Needs values above 0"]],
    (value) => { chart.mode = value; chart.render(); });
  const chart = new Chart({
    name: "predictions", host: body, height: 340, label: "Predicted against actual values", mode: state.choice.predictionScale,
    axesOf: () => {
      const log = state.choice.predictionScale === "log", domain = padded([low, high], log);
      return { x: { domain, log, label: "predicted" }, y: { domain, log, label: "actual" } };
    },
    draw: (c) => {
      const { x, y, g } = c, [a, b] = x.domain();
      const line = d3.range(65).map((k) => (c.axes.x.log ? a * (b / a) ** (k / 64) : a + ((b - a) * k) / 64));
      g.append("path").attr("class", "diagonal").attr("fill", "none").attr("d", d3.line((v) => x(v), (v) => y(v))(line));
      for (const t of shown) {
        const left = c.axes.x.log && t.predicted - 2 * t.std <= 0 ? c.area.left : x(t.predicted - 2 * t.std);
        g.append("line").attr("class", "whisker").attr("x1", left).attr("x2", x(t.predicted + 2 * t.std)).attr("y1", y(t.value)).attr("y2", y(t.value));
      }
      drawTrials(c, c.over, shown, (t) => x(t.predicted), (t) => y(t.value), 40);
    },
  });
  bar.append(control, chart.buttons());
  section.append(legend(shown, [["diagonal", LINE, "predicted = actual"], ["whisker", LINE, "± 2 standard deviations"]]));
}

function calibrationText() {
  const c = data.calibration;
  if (!c) return null;
  const parts = c.nominal.map((p, k) => `${percent(c.coverage[k])} within the ${format(100 * p, 3)} % interval`);
  const by = Object.entries(c.bySource).map(([source, [n, coverage]]) => `${data.sources[source]}: ${percent(coverage[2])} of ${n}`);
  return `Of all values, ${parts.join(", ")}. Within the 95 % interval: ${by.join("; ")}. The global model proposes where it hopes to be surprised, so do not expect a perfect line.`;
}
