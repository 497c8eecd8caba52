// Interactive pictures, drawn by uPlot. Each picture is shown with a table of its figures.

import { h, harmful } from "./dom.js";
import { figure } from "./format.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
// The colors of Okabe and Ito for light pages, and lighter colors for dark pages.
const light = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#9a7d0a", "#56b4e9", "#555555"];
const night = ["#56b4e9", "#ff9d66", "#4cc9a4", "#e6a3c8", "#e8bd5a", "#9ecbf0", "#bbbbbb"];
export const color = (i) => (dark.matches ? night : light)[i % light.length];

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// joined returns the options of a series with n points. Fewer than three points are not joined by a
// line, because the line would look like a curve.
export const joined = (n) => n < 3 ? { paths: () => null } : {};

// picture makes a picture as wide as the element around it. It is drawn when it becomes visible.
export function picture(label, options, data, height) {
  const place = h("div", { class: "chart", role: "img", "aria-label": label });
  let plot = null;
  const draw = () => {
    if (!place.isConnected || !window.uPlot) return;
    const width = Math.max(200, place.clientWidth - 14);
    if (plot) { plot.setSize({ width, height: height || 260 }); return; }
    const axis = { stroke: style("--ink"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 } };
    plot = new window.uPlot({
      width, height: height || 260, cursor: { drag: { x: true, y: false } }, ...options,
      axes: (options.axes || [{}, {}]).map((a) => ({ ...axis, ...a })),
    }, data, place);
  };
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(place);
  place.replot = (next) => { data = next; if (plot) plot.setData(next); };
  return place;
}

// points draws samples in the order in which they were measured, with a series for each case.
export function points(s, label, unit) {
  const trials = [...new Set(s.cases.flatMap((c) => c.samples.map((x) => x.trial)))].sort((a, b) => a - b);
  const at = new Map(trials.map((t, i) => [t, i]));
  const data = [trials];
  for (const c of s.cases) {
    const values = new Array(trials.length).fill(null);
    for (const x of c.samples) values[at.get(x.trial)] = x.value;
    data.push(values);
  }
  return picture(label, {
    scales: { x: { time: false } },
    axes: [{ label: "trial, in the order measured" }, { size: 90, values: (_, list) => list.map((v) => figure(v, unit)) }],
    series: [{ label: "trial" }, ...s.cases.map((c, i) => ({
      label: c.driver + (harmful(c) ? "!" : ""), stroke: color(i), width: 1, spanGaps: true, points: { show: true, size: 6, fill: color(i) }, ...joined(c.samples.length), value: (_, v) => v === null || v === undefined ? "" : figure(v, unit),
    }))],
  }, data);
}
