// Data of the page, and how everything is shown as text. Text reaches the document through textContent only.

const data = JSON.parse(document.getElementById("data").textContent);
const params = data.params;
const sign = data.maximize ? -1 : 1; // times a value: lower is better
const words = data.maximize
  ? { optimum: "maximum", optima: "maxima", best: "highest", better: "higher", side: "below", declines: "drops", ring: "− 1 %" }
  : { optimum: "minimum", optima: "minima", best: "lowest", better: "lower", side: "above", declines: "rises", ring: "+ 1 %" };
const varied = params.map((p, i) => i).filter((i) => params[i].varies);

const trials = data.trials.id.map((id, k) => ({
  id,
  state: data.trials.state[k],
  value: data.trials.value[k],
  mean: data.trials.mean ? data.trials.mean[k] : null,
  best: data.trials.best[k],
  feasible: Boolean(data.trials.feasible[k]),
  source: data.trials.source[k],
  at: data.trials.at.map((column) => column[k]),
  constraints: data.trials.constraints ? data.trials.constraints[k] : [],
  extra: data.trials.extra ? data.trials.extra[k] : [],
  reason: data.trials.reason[k],
  predicted: data.trials.predicted[k],
  std: data.trials.std[k],
  error: data.trials.error[k] === null ? null : data.trials.errors[data.trials.error[k]],
  outlier: false,
  elsewhere: false, // has other values of the parameters that are held
}));
for (const id of data.trials.outlier) trials[id].outlier = true;
for (const id of data.trials.elsewhere) trials[id].elsewhere = true;
const bestTrial = data.trials.bestTrial === null ? null : trials[data.trials.bestTrial];

/** An HTML element. `options`: text, attributes, and listeners as onclick and so on. */
function h(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "text") node.textContent = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

/** A number with some significant digits, without zeros at its end. */
function format(value, digits = 6) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text = size !== 0 && (size >= 1e6 || size < 1e-4) ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)));
  const [mantissa, exponent] = text.split("e");
  const trimmed = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return (exponent ? `${trimmed}e${exponent.replace("+", "")}` : trimmed).replace("-", "−").replace("e-", "e−");
}

function shorten(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** A position on the axis of parameter i as the user writes the value. */
function paramText(i, at, digits = 6) {
  if (at === null || at === undefined) return "inactive";
  return params[i].options ? params[i].options[Math.round(at)] : format(at, digits);
}

function percent(fraction) {
  return fraction === null ? "–" : `${format(100 * fraction, 3)} %`;
}

/** Whether a trial has an outcome that counts, with the values that are held. */
function isFinished(trial) {
  return (trial.state === "complete" || trial.state === "failed") && !trial.elsewhere;
}

/** How a trial ended, in a few words. */
function outcome(trial) {
  if (trial.value === null) return trial.state;
  const marks = [trial.feasible ? null : "infeasible", trial.outlier ? "outlier" : null, trial.elsewhere ? "other held values" : null].filter(Boolean);
  return format(trial.value, 8) + (marks.length ? ` (${marks.join(", ")})` : "");
}

/** The lines of the tooltip of a trial. */
function trialLines(trial) {
  const lines = [[`Trial ${trial.id}`, outcome(trial)]];
  if (trial.mean !== null) lines.push(["posterior mean", format(trial.mean)]);
  if (trial.predicted !== null) lines.push(["predicted", `${format(trial.predicted)} ± ${format(trial.std, 2)}`]);
  for (const i of varied.slice(0, 8)) if (trial.at[i] !== null) lines.push([params[i].name, paramText(i, trial.at[i])]);
  if (varied.length > 8) lines.push(["", `and ${varied.length - 8} more parameters`]);
  lines.push(["", data.sources[trial.source]]);
  if (trial.error !== null) lines.push(["", shorten(trial.error.trim().split("\n").pop(), 120)]);
  return lines;
}
