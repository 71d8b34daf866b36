// The length-scale of the global model, and when the evaluations ran.

function drawLengthScale() {
  const ls = data.lengthScale;
  if (!ls) return;
  const { section, bar, body } = card("length-scale", "Length-scale of the global model", {
    short: "Length-scale",
    note: `In the unit cube. An alpha ratio above ${format(ls.threshold, 3)} is a vote for a smaller length-scale.`,
  });
  const rows = ls.trial.map((id, k) => ({ id, value: ls.value[k], floor: ls.floor[k], ratio: ls.ratio[k], cooled: ls.cooled[k] }));
  const chart = new Chart({
    name: "length-scale", host: body, height: 260, label: "Length-scale of the global model",
    axesOf: () => ({
      x: { domain: [-1, Math.max(trials.length, 5)], integer: true, label: "trial" },
      y: { domain: padded(rows.flatMap((r) => [r.value, r.floor]), true), log: true, label: "length-scale" },
    }),
    draw: (c) => {
      const { x, y, g } = c;
      g.append("path").attr("class", "floor").attr("d", d3.line((r) => x(r.id), (r) => y(r.floor)).defined((r) => r.floor > 0)(rows));
      g.append("path").attr("class", "model").attr("d", d3.line((r) => x(r.id), (r) => y(r.value)).curve(d3.curveStepAfter)(rows));
      for (const r of rows) {
        if (r.cooled) g.append("path").attr("class", "point failed").attr("d", "M-4,-3L0,4L4,-3Z").attr("transform", `translate(${x(r.id)},${y(r.value)})`);
        c.mark(x(r.id), y(r.value), trials[r.id], () => [[`Trial ${r.id}`, r.cooled ? "length-scale reduced" : "length-scale kept"], ["length-scale", format(r.value, 4)], ["floor", format(r.floor, 4)], ["alpha ratio", format(r.ratio, 4)]]);
      }
    },
  });
  bar.append(chart.buttons());
  section.append(legend([], [["model", LINE, "length-scale"], ["floor", LINE, "floor"], ["point failed", "M-4,-3L0,4L4,-3Z", "reduced"]]));
}

function drawTimeline() {
  const tl = data.timeline;
  const { section, bar, body } = card("timeline", "Timeline", { wide: MANY === Boolean(data.lengthScale), note: tl ? `Begins ${tl.startTime.slice(0, 19).replace("T", " ")} UTC. Evaluations took ${percent(tl.busy)} of the time of all lanes.` : null });
  if (!tl || !tl.trial.length) return body.replaceChildren(h("p", { class: "empty", text: data.timelineNote || "No evaluation has begun yet." }));
  const rows = tl.trial.map((id, k) => ({ t: trials[id], lane: tl.lane[k], start: tl.start[k], end: tl.end[k], worker: tl.workers[tl.worker[k]] }));
  const lanes = d3.max(rows, (r) => r.lane) + 1;
  const duration = d3.max(rows, (r) => r.end) || 1;
  const [unit, seconds] = duration > 3 * 86400 ? ["days", 86400] : duration > 3 * 3600 ? ["h", 3600] : duration > 300 ? ["min", 60] : ["s", 1];
  const chart = new Chart({
    name: "timeline", host: body, height: Math.min(260, 90 + 22 * lanes), label: "When each evaluation ran", left: 46,
    axesOf: () => ({
      x: { domain: [0, duration / seconds], label: `time (${unit})` },
      y: { domain: [lanes - 0.5, -0.5], label: "lane", format: (v) => (Number.isInteger(v) ? String(v) : ""), integer: true },
    }),
    draw: (c) => {
      for (const r of rows) {
        const x0 = c.x(r.start / seconds), x1 = c.x(r.end / seconds), y0 = c.y(r.lane - 0.4), y1 = c.y(r.lane + 0.4);
        c.g.append("rect").attr("class", `span ${r.t.state === "complete" ? r.t.source : r.t.state}`).attr("x", x0).attr("width", Math.max(x1 - x0, 1))
          .attr("y", Math.min(y0, y1)).attr("height", Math.abs(y1 - y0)).attr("data-trial", r.t.id);
        c.mark((Math.max(x0, c.area.left) + Math.min(Math.max(x1, x0 + 1), c.area.right)) / 2, c.y(r.lane), r.t, () => timelineLines(r));
      }
    },
  });
  chart.zoomTo = function zoomAlong(xs) {
    const x = xs.map((p) => this.x.invert(p)).sort(d3.ascending);
    this.view = { x, y: this.axes.y.domain };
  };
  bar.append(chart.buttons());
  section.append(legend(rows.map((r) => r.t)));
}

function timelineLines(r) {
  return [[`Trial ${r.t.id}`, outcome(r.t)], ["from", `${format(r.start, 5)} s`], ["took", `${format(r.end - r.start, 4)} s`], ["worker", r.worker]];
}

/** When a trial ran, for its details. */
function timesOf(trial) {
  const k = data.timeline ? data.timeline.trial.indexOf(trial.id) : -1;
  if (k < 0) return [];
  const start = new Date(Date.parse(data.timeline.startTime) + 1000 * data.timeline.start[k]);
  return [["Proposed", `${start.toISOString().slice(0, 19).replace("T", " ")} UTC`], ["Took", trial.state === "pending" ? "pending" : `${format(data.timeline.end[k] - data.timeline.start[k], 4)} s from proposal to result`],
    ["Worker", data.timeline.workers[data.timeline.worker[k]]]];
}
