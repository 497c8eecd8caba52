// Functions that format figures, with as many digits as package report shows.

export const digits = (v) => {
  const a = Math.abs(v);
  if (a >= 100) return v.toFixed(0);
  if (a >= 10) return v.toFixed(1);
  if (a >= 1 || a === 0) return v.toFixed(a === 0 ? 0 : 2);
  return v.toPrecision(2);
};

const scaled = (v, base, steps, unit) => {
  for (const [factor, prefix] of steps) if (Math.abs(v) >= factor) return digits(v / factor) + " " + prefix + unit;
  const [factor, prefix] = steps[steps.length - 1];
  return digits(v / factor) + " " + prefix + unit;
};

const si = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const binary = [[2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"], [1, ""]];
const seconds = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

// figure formats a value with a unit that the API uses.
export function figure(v, unit) {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  if (v === 0) return "0";
  switch (unit) {
    case "s": case "s/op": return scaled(v, 1, seconds, unit);
    case "B": case "B/op": return scaled(v, 1, binary, unit);
    case "share": return percent(v);
    case "cores": return (100 * v).toFixed(0) + "%";
  }
  return scaled(v, 1, si, unit || "");
}

// percent formats a fraction as a percentage.
export function percent(v) {
  const p = 100 * v;
  if (p === 0) return "0%";
  if (p < 0.05) return "<0.1%";
  return p.toFixed(p < 9.95 ? 1 : 0) + "%";
}

// spread formats the distance of an interval's ends from the median: one figure, or both ends of a wide
// interval.
export function spread(median, low, high) {
  if (low === undefined || low === null) return "n too small";
  if (!median) return "";
  const up = high / median - 1, down = 1 - low / median, most = Math.max(up, down);
  const signed = (v) => (v < 0 ? "" : "+") + (100 * v).toFixed(0) + "%";
  return most > 0.5 ? `(${signed(-down)} to ${signed(up)})` : "±" + percent(most);
}

export const times = (v) => (v < 0.0995 ? String(Number(v.toPrecision(2))) : v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0)) + "x";

// interval formats the interval of a ratio.
export const interval = (i) => i ? `(${times(i.low)} to ${times(i.high)})` : "(too few rounds)";

// probability formats a p-value. A value below a level of significance is never rounded up to that
// level.
export function probability(p) {
  const rounded = p.toFixed(3);
  for (const level of [0.001, 0.01, 0.05]) if (p < level && (level === 0.001 || rounded === level.toFixed(3))) return "<" + level.toFixed(3);
  return rounded;
}

const zone = new Intl.DateTimeFormat("en", { timeZoneName: "short" });

// moment formats a time in the time zone of the reader, with the name of the zone.
export function moment(text) {
  const t = new Date(text);
  if (!text || Number.isNaN(t.getTime()) || t.getFullYear() < 1971) return "–";
  const two = (n) => String(n).padStart(2, "0");
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())} ${zone.formatToParts(t).find((p) => p.type === "timeZoneName").value}`;
}

// span formats a duration of s seconds.
export function span(s) {
  if (!(s >= 0)) return "–";
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 60) return Math.round(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.round(s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.round((s % 3600) / 60) + " min";
}

export const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
export const counted = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
