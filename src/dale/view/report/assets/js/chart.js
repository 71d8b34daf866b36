// A chart: two axes, marks, a tooltip for the nearest mark, and zoom by mouse, keyboard and buttons.

const NEAR = 28; // pixels from a mark within which it is shown
const MIN_DRAG = 8; // pixels that a drag must have to zoom
const tip = document.getElementById("tip");

/** Show lines of text, each a pair of a label and a value, next to a place of the window. */
function showTip(lines, x, y) {
  const rows = lines.map(([label, value], k) =>
    k === 0
      ? h("b", { text: [label, value].filter(Boolean).join(": ") })
      : h("div", {}, label ? h("span", { class: "soft", text: `${shorten(label, 40)} ` }) : null, shorten(String(value), 160)));
  tip.replaceChildren(...rows);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 14 + width > window.innerWidth ? x - width - 14 : x + 14;
  const top = y + 14 + height > window.innerHeight ? y - height - 14 : y + 14;
  tip.style.left = `${Math.max(4, Math.min(left, window.innerWidth - width - 4))}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() {
  tip.hidden = true;
}

/** The range of some numbers with a margin; on a logarithmic axis, only positive numbers count. */
function padded(values, log = false, margin = 0.06) {
  const some = values.filter((v) => v !== null && Number.isFinite(v) && (!log || v > 0));
  if (some.length === 0) return log ? [0.1, 10] : [0, 1];
  let [low, high] = d3.extent(some);
  if (log) {
    const factor = high > low ? (high / low) ** margin : 2;
    return [low / factor, high * factor];
  }
  const width = Math.max(high > low ? high - low : Math.abs(high) || 1, 1e-300); // ticks need normal numbers
  return [low - margin * width, high + margin * width];
}

/** The axis of parameter i. */
function paramAxis(i) {
  const p = params[i];
  if (p.options) return { domain: [-0.5, p.options.length - 0.5], options: p.options, label: p.name };
  const domain = p.high > p.low ? [p.low, p.high] : [p.low - 0.5, p.high + 0.5];
  return { domain, log: p.log, label: p.name };
}

function scaleOf(axis, domain, range) {
  return (axis.log ? d3.scaleLog() : d3.scaleLinear()).domain(domain).range(range);
}

function drawAxis(make, scale, axis, count) {
  const drawn = make(scale);
  if (axis.options) return drawOptions(drawn, scale, axis, make === d3.axisBottom);
  if (axis.format) drawn.tickFormat(axis.format);
  else if (!axis.log) drawn.tickFormat((v) => format(v, 5));
  if (axis.log) return drawn.ticks(count, (v) => format(v, 3));
  return drawn.ticks(axis.integer ? Math.min(count, Math.max(1, scale.domain()[1] - scale.domain()[0])) : count);
}

/** The options of a choice; if there is no room for all of them, every second, third and so on. */
function drawOptions(drawn, scale, axis, across) {
  const [low, high] = d3.extent(scale.domain());
  const shown = d3.range(axis.options.length).filter((k) => k >= low && k <= high);
  const text = (k) => shorten(axis.options[k], axis.optionLength ?? 14);
  const [start, end] = scale.range();
  const room = across ? 10 + 6.5 * (d3.max(shown, (k) => text(k).length) ?? 0) : 14;
  const step = Math.max(1, Math.ceil((shown.length * room) / Math.abs(end - start)));
  return drawn.tickValues(shown.filter((k) => k % step === 0)).tickFormat(text);
}

class Chart {
  /** `options`: name, host, height, axes() -> {x, y}, draw(chart), label (what it shows), zoom, hover(x, y). */
  constructor(options) {
    Object.assign(this, { height: 300, zoom: true, mode: "", left: 70, bottom: 42 }, options);
    this.svg = d3.select(this.host).append("svg").attr("role", "group").attr("tabindex", 0).attr("id", `chart-${this.name}`);
    this.svg.attr("aria-label", `${this.label}. Arrow keys move between marks, Enter opens a trial${this.zoom ? ", plus, minus and 0 zoom" : ""}.`);
    this.marks = [];
    this.at = -1;
    this.listen();
    new ResizeObserver(() => { if (this.host.clientWidth !== this.width) this.render(); }).observe(this.host);
    this.render();
  }

  get key() {
    return `${this.name}/${this.mode}`;
  }

  get view() {
    return this.zoom ? state.zoom[this.key] : undefined;
  }

  set view(view) {
    if (view) state.zoom[this.key] = view;
    else delete state.zoom[this.key];
    this.render();
  }

  render() {
    this.width = this.host.clientWidth;
    if (this.width === 0) return;
    const { x, y } = (this.axes = this.axesOf());
    const right = 12, top = 10;
    const left = Math.min(this.left, this.width / 3);
    this.area = { left, top, right: this.width - right, bottom: this.height - this.bottom };
    const { area } = this;
    this.x = scaleOf(x, this.view?.x ?? x.domain, [area.left, area.right]);
    this.y = scaleOf(y, this.view?.y ?? y.domain, [area.bottom, area.top]);
    this.svg.attr("viewBox", [0, 0, this.width, this.height]).attr("height", this.height).selectAll("*").remove();
    this.drawAxes(x, y);
    const plot = this.svg.append("g").attr("class", "plot");
    this.rectangle(plot, 0).attr("class", "catch");
    this.g = this.layer(plot, "inner", 0); // lines and areas end at the frame
    this.over = this.layer(plot, "outer", 6); // marks on a bound are whole
    this.marks = [];
    this.at = -1;
    this.draw(this);
    this.marks.sort((a, b) => a.x - b.x || a.y - b.y);
    this.cursor = this.svg.append("circle").attr("class", "point on").attr("r", 7).attr("fill", "none").attr("visibility", "hidden");
    this.svg.attr("data-zoomed", this.view ? "yes" : null);
    this.onrender?.();
  }

  rectangle(parent, margin) {
    const { left, top, right, bottom } = this.area;
    return parent.append("rect").attr("x", left - margin).attr("y", top - margin).attr("width", right - left + 2 * margin).attr("height", bottom - top + 2 * margin);
  }

  layer(plot, kind, margin) {
    const id = `clip-${this.name}-${kind}`;
    this.rectangle(this.svg.append("clipPath").attr("id", id), margin);
    return plot.append("g").attr("clip-path", `url(#${id})`);
  }

  drawAxes(x, y) {
    const { left, top, right, bottom } = this.area;
    const across = Math.max(2, Math.round((right - left) / 85)), up = Math.max(2, Math.round((bottom - top) / 45));
    this.svg.append("g").attr("class", "grid").attr("transform", `translate(0,${bottom})`)
      .call(drawAxis(d3.axisBottom, this.x, x, across).tickSize(top - bottom).tickFormat(""));
    this.svg.append("g").attr("class", "grid").attr("transform", `translate(${left},0)`)
      .call(drawAxis(d3.axisLeft, this.y, y, up).tickSize(left - right).tickFormat(""));
    this.svg.append("g").attr("class", "axis x").attr("transform", `translate(0,${bottom})`).call(drawAxis(d3.axisBottom, this.x, x, across));
    this.svg.append("g").attr("class", "axis y").attr("transform", `translate(${left},0)`).call(drawAxis(d3.axisLeft, this.y, { optionLength: 8, ...y }, up));
    this.svg.append("text").attr("class", "label").attr("x", (left + right) / 2).attr("y", this.height - 6).attr("text-anchor", "middle").text(shorten(x.label, 60));
    if (y.label) {
      this.svg.append("text").attr("class", "label").attr("transform", `translate(11,${(top + bottom) / 2}) rotate(-90)`)
        .attr("text-anchor", "middle").text(shorten(y.label, 40));
    }
  }

  /** Remember where a mark is; `trial` may be null. Marks outside of the area cannot be pointed at. */
  mark(px, py, trial, lines) {
    const { left, top, right, bottom } = this.area;
    if (px >= left - 1 && px <= right + 1 && py >= top - 1 && py <= bottom + 1) this.marks.push({ x: px, y: py, trial, lines: lines ?? (() => trialLines(trial)) });
  }

  nearest(px, py) {
    const found = d3.least(this.marks, (m) => (m.x - px) ** 2 + (m.y - py) ** 2);
    return found && Math.hypot(found.x - px, found.y - py) <= NEAR ? found : null;
  }

  point(mark) {
    this.cursor.attr("visibility", mark ? "visible" : "hidden");
    if (!mark) return;
    this.cursor.attr("cx", mark.x).attr("cy", mark.y);
    const box = this.svg.node().getBoundingClientRect();
    showTip(mark.lines(), box.left + mark.x, box.top + mark.y);
  }

  listen() {
    const node = this.svg.node();
    node.addEventListener("pointermove", (event) => this.move(event));
    node.addEventListener("pointerleave", () => { this.point(null); hideTip(); });
    node.addEventListener("blur", () => { this.point(null); hideTip(); });
    node.addEventListener("click", (event) => {
      const mark = this.dragged ? null : this.nearest(...d3.pointer(event, node));
      this.dragged = false;
      if (mark?.trial) showDetails(mark.trial);
    });
    node.addEventListener("keydown", (event) => this.press(event));
    if (!this.zoom) return;
    node.addEventListener("pointerdown", (event) => this.drag(event));
    node.addEventListener("dblclick", () => { this.view = null; });
    node.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the wheel alone scrolls the page
      event.preventDefault();
      this.scale(event.deltaY < 0 ? 0.8 : 1.25, ...d3.pointer(event, node));
    }, { passive: false });
  }

  move(event) {
    if (this.box) return;
    const [px, py] = d3.pointer(event, this.svg.node());
    const mark = this.nearest(px, py);
    this.point(mark);
    if (mark) return;
    const { left, top, right, bottom } = this.area;
    const inside = px >= left && px <= right && py >= top && py <= bottom;
    const lines = inside && this.hover ? this.hover(this.x.invert(px), this.y.invert(py)) : null;
    if (lines) showTip(lines, event.clientX, event.clientY);
    else hideTip();
  }

  /** Zoom to the rectangle that the mouse draws. */
  drag(event) {
    if (event.button !== 0 || event.pointerType === "touch") return;
    const node = this.svg.node(), { area } = this;
    const clamp = ([px, py]) => [Math.min(Math.max(px, area.left), area.right), Math.min(Math.max(py, area.top), area.bottom)];
    const [x0, y0] = clamp(d3.pointer(event, node));
    const follow = (moved) => {
      const [x1, y1] = clamp(d3.pointer(moved, node));
      if (!this.box && Math.hypot(x1 - x0, y1 - y0) < MIN_DRAG) return;
      this.box ??= this.svg.append("rect").attr("class", "box");
      this.box.attr("x", Math.min(x0, x1)).attr("y", Math.min(y0, y1)).attr("width", Math.abs(x1 - x0)).attr("height", Math.abs(y1 - y0));
      hideTip();
    };
    const drop = (ended) => {
      window.removeEventListener("pointermove", follow);
      if (!this.box) return;
      const [x1, y1] = clamp(d3.pointer(ended, node));
      this.box = null;
      this.dragged = true;
      setTimeout(() => { this.dragged = false; });
      if (Math.abs(x1 - x0) > MIN_DRAG && Math.abs(y1 - y0) > MIN_DRAG) this.zoomTo([x0, x1], [y0, y1]);
      else this.render();
    };
    window.addEventListener("pointermove", follow);
    window.addEventListener("pointerup", drop, { once: true });
    event.preventDefault();
    node.focus({ preventScroll: true });
  }

  zoomTo(xs, ys) {
    const sorted = (scale, pixels) => pixels.map((p) => scale.invert(p)).sort(d3.ascending);
    const view = { x: sorted(this.x, xs), y: sorted(this.y, ys) };
    if (view.x[1] > view.x[0] && view.y[1] > view.y[0]) this.view = view;
    else this.render();
  }

  scale(factor, px, py) {
    const { left, top, right, bottom } = this.area;
    const cx = px ?? (left + right) / 2, cy = py ?? (top + bottom) / 2;
    this.zoomTo([cx + (left - cx) * factor, cx + (right - cx) * factor], [cy + (top - cy) * factor, cy + (bottom - cy) * factor]);
  }

  press(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step && this.marks.length) {
      this.at = this.at < 0 ? (step > 0 ? 0 : this.marks.length - 1) : (this.at + step + this.marks.length) % this.marks.length;
      this.point(this.marks[this.at]);
    } else if (event.key === "Enter" && this.marks[this.at]?.trial) showDetails(this.marks[this.at].trial);
    else if (event.key === "Escape") { this.point(null); hideTip(); }
    else if (this.zoom && (event.key === "+" || event.key === "=")) this.scale(0.7);
    else if (this.zoom && event.key === "-") this.scale(1 / 0.7);
    else if (this.zoom && event.key === "0") this.view = null;
    else return;
    event.preventDefault();
  }

  /** Buttons to zoom, for touch screens and for those who look for them. */
  buttons() {
    const button = (text, label, act) => h("button", { type: "button", text, title: label, "aria-label": `${label}: ${this.label}`, onclick: act, id: `zoom-${this.name}-${text}` });
    const reset = button("Reset", "Reset the zoom", () => { this.view = null; });
    this.onrender = () => { reset.disabled = !this.view; };
    this.onrender();
    return h("span", { class: "group-of-buttons" }, button("+", "Zoom in", () => this.scale(0.7)), button("−", "Zoom out", () => this.scale(1 / 0.7)), reset);
  }
}
