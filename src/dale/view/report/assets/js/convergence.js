// The value of every trial, and the best value so far.

function drawConvergence() {
  const shown = trials.filter(isFinished);
  const { section, bar, body } = card("convergence", "Convergence", {
    wide: true,
    note: data.trials.mean
      ? `Values are noisy: the line is the ${words.best} posterior mean so far, given all values. Drag to zoom, double-click to reset.`
      : "The line is the best feasible value so far. Drag to zoom, double-click to reset, Ctrl and wheel to zoom.",
  });
  if (!shown.length) return body.replaceChildren(h("p", { class: "empty", text: "No evaluation has ended yet." }));
  const values = shown.filter((t) => t.value !== null && !t.outlier).map((t) => t.value);
  const known = [...values, ...shown.map((t) => t.best).filter((v) => v !== null)];
  const lowest = d3.min(known, (v) => sign * v);
  const gaps = values.map((v) => sign * v - lowest).filter((v) => v > 0);
  const floor = gaps.length ? Math.max(d3.min(gaps) / 3, 1e-16 * Math.abs(lowest || 1)) : 1;
  const positive = values.length > 0 && d3.min(known) > 0;
  const MODES = {
    linear: { log: false, of: (v) => v, label: data.objective },
    log: { log: true, of: (v) => (v > 0 ? v : null), label: data.objective },
    gap: { log: true, of: (v) => Math.max(sign * v - lowest, floor), label: `${data.objective} ${words.side} the ${words.best} value` },
  };
  const mode = () => MODES[state.choice.scale];
  const control = choice("scale", "Scale of the values", [
    ["linear", "Linear"],
    ["log", "Log", !positive, positive ? "Logarithm of the value" : "Needs values above 0"],
    ["gap", "Log difference", gaps.length === 0, `Logarithm of the difference from the ${words.best} value`],
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
  section.append(legend(shown, [["best-line", LINE, data.trials.mean ? `${words.best} posterior mean so far` : "best so far"], ["star", STAR, "best"]]));
}

/** Few bad values must not flatten all others: they are drawn at the edge. */
function convergenceRange(values, mode) {
  const some = values.map(mode.of).filter((v) => v !== null).sort(d3.ascending);
  if (mode.log || some.length < 8) return padded(some, mode.log);
  const losses = some.map((v) => sign * v).sort(d3.ascending);
  const [low, middle, high] = [losses[0], d3.quantileSorted(losses, 0.9), losses[losses.length - 1]];
  return padded([low, Math.min(high, low + 3 * (middle - low) || high)].map((v) => sign * v).sort(d3.ascending));
}

function drawCourse(chart, shown, mode) {
  const { x, y, g, area } = chart;
  const known = shown.filter((t) => t.best !== null && mode.of(t.best) !== null);
  const line = d3.line((t) => x(t.id), (t) => y(mode.of(t.best))).curve(d3.curveStepAfter);
  const end = known.length ? [{ ...known[known.length - 1], id: trials.length - 0.5 }] : [];
  g.append("path").attr("class", "best-line").attr("d", line([...known, ...end]));
  const height = (t) => {
    const down = data.maximize && state.choice.scale !== "gap"; // worse values are lower on the page
    if (t.value === null || (t.outlier && !down)) return area.top + 6;
    if (t.outlier || mode.of(t.value) === null) return down ? area.bottom - 6 : area.top + 6;
    if (down) return Math.min(y(mode.of(t.value)), y.domain()[0] === chart.axes.y.domain[0] ? area.bottom - 6 : Infinity);
    return Math.max(y(mode.of(t.value)), y.domain()[1] === chart.axes.y.domain[1] ? area.top + 6 : -Infinity);
  };
  drawTrials(chart, chart.over, shown, (t) => x(t.id), height);
  if (bestTrial) {
    const value = bestTrial.mean ?? bestTrial.value;
    if (value !== null && mode.of(value) !== null) drawStar(chart.over, x(bestTrial.id), y(mode.of(value)));
  }
}
