// The value of every trial, and the best value so far.

function drawConvergence() {
  const shown = trials.filter(isFinished);
  const { section, bar, body } = card("convergence", "Convergence", {
    wide: true,
    note: data.trials.mean
      ? "Values are noisy: the line is the lowest posterior mean so far, given all values. Drag to zoom, double-click to reset."
      : "The line is the best feasible value so far. Drag to zoom, double-click to reset, Ctrl and wheel to zoom.",
  });
  if (!shown.length) return body.replaceChildren(h("p", { class: "empty", text: "No evaluation has ended yet." }));
  const values = shown.filter((t) => t.value !== null && !t.outlier).map((t) => t.value);
  const lowest = d3.min([...values, ...shown.map((t) => t.best).filter((v) => v !== null)]);
  const gaps = values.map((v) => v - lowest).filter((v) => v > 0);
  const floor = gaps.length ? Math.max(d3.min(gaps) / 3, 1e-16 * Math.abs(lowest || 1)) : 1;
  const positive = values.length > 0 && d3.min(values) > 0 && lowest > 0;
  const MODES = {
    linear: { log: false, of: (v) => v, label: data.objective },
    log: { log: true, of: (v) => (v > 0 ? v : null), label: data.objective },
    gap: { log: true, of: (v) => Math.max(v - lowest, floor), label: `${data.objective} above the lowest value` },
  };
  const mode = () => MODES[state.choice.scale];
  const control = choice("scale", "Scale of the values", [
    ["linear", "Linear"],
    ["log", "Log", !positive, positive ? "Logarithm of the value" : "Needs values above 0"],
    ["gap", "Log difference", gaps.length === 0, "Logarithm of the difference from the lowest value"],
  ], (value) => { chart.mode = value; chart.render(); });
  const chart = new Chart({
    name: "convergence", host: body, height: 360, label: "Value of each trial and best value so far", mode: state.choice.scale,
    axesOf: () => ({
      x: { domain: [-1, Math.max(trials.length, 5)], integer: true, label: "trial" },
      y: { domain: convergenceRange(values, mode()), log: mode().log, label: mode().label },
    }),
    draw: (c) => drawCourse(c, shown, mode()),
  });
  bar.append(control, chart.buttons());
  section.append(legend(shown, [["best-line", LINE, data.trials.mean ? "lowest posterior mean so far" : "best so far"], ["star", STAR, "best"]]));
}

/** Few high values must not flatten all others: they are drawn at the upper edge. */
function convergenceRange(values, mode) {
  const some = values.map(mode.of).filter((v) => v !== null).sort(d3.ascending);
  if (mode.log || some.length < 8) return padded(some, mode.log);
  const [low, middle, high] = [some[0], d3.quantileSorted(some, 0.9), some[some.length - 1]];
  return padded([low, Math.min(high, low + 3 * (middle - low) || high)]);
}

function drawCourse(chart, shown, mode) {
  const { x, y, g, area } = chart;
  const known = shown.filter((t) => t.best !== null && mode.of(t.best) !== null);
  const line = d3.line((t) => x(t.id), (t) => y(mode.of(t.best))).curve(d3.curveStepAfter);
  const end = known.length ? [{ ...known[known.length - 1], id: trials.length - 0.5 }] : [];
  g.append("path").attr("class", "best-line").attr("d", line([...known, ...end]));
  const height = (t) => {
    if (t.value === null || t.outlier || mode.of(t.value) === null) return area.top + 6;
    return Math.max(y(mode.of(t.value)), y.domain()[1] === chart.axes.y.domain[1] ? area.top + 6 : -Infinity);
  };
  drawTrials(chart, chart.over, shown, (t) => x(t.id), height);
  if (bestTrial) {
    const value = bestTrial.mean ?? bestTrial.value;
    if (value !== null && mode.of(value) !== null) drawStar(chart.over, x(bestTrial.id), y(mode.of(value)));
  }
}
