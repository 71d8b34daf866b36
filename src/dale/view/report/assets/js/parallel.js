// Parallel coordinates: each trial is one line across all parameters.

const MAX_LINES = 1500; // the best ones

function drawParallel() {
  const shown = trials.filter((t) => t.state === "complete" && !t.outlier && !t.elsewhere);
  const { section, bar, body } = card("parallel", "Parallel coordinates", { wide: true, note: `Each line is a trial: the stronger its colour, the ${words.better} its value. The thick one is the best. Point at a line to see its trial.` });
  if (!shown.length) return body.replaceChildren(h("p", { class: "empty", text: "No evaluation has returned a value yet." }));
  state.choice.share ??= 100;
  const text = h("span", { text: `${state.choice.share} %` });
  const slider = h("input", { type: "range", min: 1, max: 100, id: "parallel-share", oninput: (event) => {
    state.choice.share = Number(event.target.value);
    text.textContent = `${state.choice.share} %`;
    render();
  } });
  slider.value = state.choice.share;
  bar.append(h("label", {}, "best", slider, text));
  const svg = d3.select(body).append("svg").attr("role", "img").attr("aria-label", "Parallel coordinates of all trials; the table has the same numbers");
  const ranked = d3.sort(shown, (t) => sign * t.value);
  const render = () => renderParallel(svg, body, ranked);
  new ResizeObserver(render).observe(body);
  section.append(legend([], [["line best", LINE, "best"]]));
}

function renderParallel(svg, body, ranked) {
  const width = body.clientWidth, height = 300, top = 34, bottom = height - 22;
  if (width === 0) return;
  const names = [...varied.map((i) => params[i].name), data.objective];
  const x = d3.scalePoint(d3.range(names.length), [Math.min(50, width / 8), width - Math.min(50, width / 8)]);
  const values = ranked.map((t) => t.value), worst = d3.quantileSorted(values, 0.95) || values[0] + sign;
  const scales = [...varied.map((i) => scaleOf(paramAxis(i), paramAxis(i).domain, [bottom, top])),
    d3.scaleLinear(data.maximize ? [worst, values[0]] : [values[0], worst], [bottom, top]).clamp(true)];
  svg.attr("viewBox", [0, 0, width, height]).attr("height", height).selectAll("*").remove();
  const kept = ranked.slice(0, Math.min(MAX_LINES, Math.max(1, Math.round((ranked.length * state.choice.share) / 100))));
  const lines = svg.append("g");
  const height_ = (t, k) => (k < varied.length ? (t.at[varied[k]] === null ? null : scales[k](jitter(varied[k], t, 0))) : scales[k](t.value));
  const path = d3.line((p) => p[0], (p) => p[1]).defined((p) => p[1] !== null);
  const rank = new Map(ranked.map((t, k) => [t, k / ranked.length]));
  const drawn = [...kept].reverse().map((t) => {
    const points = d3.range(names.length).map((k) => [x(k), height_(t, k)]);
    const node = lines.append("path").attr("class", t === bestTrial ? "line best" : "line").attr("d", path(points)).attr("data-trial", t.id);
    if (t !== bestTrial) node.style("stroke", lineColour(rank.get(t))).style("stroke-opacity", 0.3 + 0.6 * (1 - rank.get(t)) ** 2);
    return { t, points, node };
  });
  svg.select(".line.best").raise();
  names.forEach((name, k) => {
    const end = k === 0 ? ["start", Math.max(x(k) - 40, 2)] : k === names.length - 1 ? ["end", Math.min(x(k) + 40, width - 2)] : ["middle", x(k)];
    drawParallelAxis(svg, x(k), scales[k], k < varied.length ? params[varied[k]] : {}, name, width / names.length, end);
  });
  listenParallel(svg, drawn, x);
}

/** Strong for the best trials, close to the colour of rules for the worst, on light and dark paper alike. */
function lineColour(rank) {
  return `color-mix(in srgb, var(--global) ${Math.round(100 * (1 - rank))}%, var(--line))`;
}

function drawParallelAxis(svg, px, scale, p, name, room, [anchor, at]) {
  const [low, high] = scale.domain();
  const text = (v) => (p.options ? shorten(p.options[Math.min(p.options.length - 1, Math.max(0, Math.round(v)))], 12) : format(v, 3));
  const y = scale.range();
  svg.append("line").attr("class", "rule").attr("x1", px).attr("x2", px).attr("y1", y[0]).attr("y2", y[1]);
  const put = (value, height, place) => svg.append("text").attr("class", "label").attr("x", place[1]).attr("y", height).attr("text-anchor", place[0]).text(value);
  put(shorten(name, Math.max(4, Math.floor(room / 7.5))), y[1] - 20, [anchor, at]);
  put(text(high), y[1] - 5, ["middle", px]);
  put(text(low), y[0] + 16, ["middle", px]);
}

function listenParallel(svg, drawn, x) {
  const node = svg.node();
  const near = (event) => {
    const [px, py] = d3.pointer(event, node);
    const k = Math.min(Math.max(Math.floor((px - x(0)) / x.step()), 0), x.domain().length - 2);
    const t = Math.min(Math.max((px - x(k)) / x.step(), 0), 1);
    const distance = (d) => {
      const [a, b] = [d.points[k][1], d.points[k + 1]?.[1] ?? d.points[k][1]];
      return a === null || b === null ? Infinity : Math.abs(a + (b - a) * t - py);
    };
    const best = d3.least(drawn, distance);
    return best && distance(best) < 12 ? best : null;
  };
  node.onpointermove = (event) => {
    svg.selectAll(".line.on").classed("on", false);
    const found = near(event);
    if (!found) return hideTip();
    found.node.classed("on", true).raise();
    showTip(trialLines(found.t), event.clientX, event.clientY);
  };
  node.onpointerleave = () => { svg.selectAll(".line.on").classed("on", false); hideTip(); };
  node.onclick = (event) => { const found = near(event); if (found) showDetails(found.t); };
}
