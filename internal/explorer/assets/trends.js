// The view of trends: a figure over the runs of the store, with the points where its level changes.

import { get } from "./api.js";
import { h, folded, table, choices, select, input, harmful, harmMark } from "./dom.js";
import { figure, spread, times, moment, count, counted } from "./format.js";
import { picture, color, joined } from "./plot.js";

const pairs = (o) => Object.entries(o || {}).map(([k, v]) => `${k}=${v}`).join(" ");

export async function trends({ query, signal, go }) {
  let t = await get("trends?" + query, signal);
  if (!query.get("workload") && t.start) {
    query = new URLSearchParams([["workload", t.start.workload], ["driver", t.start.driver], ...[...query].filter(([k]) => k !== "workload" && k !== "driver")]);
    t = await get("trends?" + query, signal);
  }
  const form = h("form", { class: "filters", submit: (e) => e.preventDefault(), change: () => go(new FormData(form)) },
    select("workload", "Workload", t.workloads.map((w) => [w, w]), query.get("workload")),
    select("metric", "Figure", t.metrics.map((m) => [m.name, m.title]), query.get("metric") || "time"),
    input("runs", "Newest runs", query.get("runs") || "50", { type: "number", min: 1, max: 200 }),
    t.drivers.length > 1 ? choices("driver", "Drivers", t.drivers, query.getAll("driver")) : h("input", { type: "hidden", name: "driver", value: t.drivers[0] || "" }));
  const groups = new Map(); // series that were measured in the same way, of several drivers
  for (const s of t.series) {
    const key = JSON.stringify([s.phase, s.sha256, s.scale, s.settings, s.parameters, s.host, s.unit]);
    groups.set(key, [...(groups.get(key) || []), s]);
  }
  const list = [...groups.values()];
  const long = list.filter((g) => g.some((s) => s.points.length > 1)), short = list.length - long.length;
  if (t.pending) setTimeout(() => signal.aborted || go([...query], true), 50); // ask again, because the server has not read all runs yet
  return [
    h("h1", {}, "Trends"), form,
    t.pending > 0 && h("p", { role: "status" }, `Reading: ${count(t.pending)} older runs to go.`),
    h("p", { class: "quiet" }, counted(t.runs, "run"), t.older ? `; ${count(t.older)} older ones are left out` : "", t.damaged ? `; ${count(t.damaged)} damaged` : "",
      ". Runs are joined only if machine, text of the workload, scale, parameters and settings are the same."),
    t.series.length === 0 && h("p", {}, t.workloads.length ? "No run has a figure of this: choose a driver that has measured the workload." : "There are no runs in this store yet."),
    long.map((g) => group(g, t.metric)),
    short > 0 && h("p", { class: "quiet" }, `${count(short)} more were measured in only one run: a trend takes two.`),
    t.more > 0 && h("p", { class: "quiet" }, `${count(t.more)} more series are left out.`),
  ];
}

// ends formats the ends of an interval, to be written after the figure.
const ends = (low, high, unit) => low === null || high === null ? ", too few samples for an interval" : ` (${figure(low, unit)} to ${figure(high, unit)})`;

// group draws the series of several drivers in one picture.
function group(series, metric) {
  const s = series[0];
  const runs = [...new Set(series.flatMap((x) => x.points.map((p) => p.run)))].sort((a, b) => a - b);
  const place = new Map(runs.map((r, i) => [r, i]));
  const started = new Map(series.flatMap((x) => x.points.map((p) => [p.run, p.started])));
  const data = [runs.map((_, i) => i)], lines = [{ label: "run", value: (_, i) => i === null ? "–" : `${runs[i]} (${moment(started.get(runs[i]))})` }], bands = [];
  const column = (x, of) => {
    const values = new Array(runs.length).fill(null);
    for (const p of x.points) values[place.get(p.run)] = of(p) ?? null;
    return values;
  };
  series.forEach((x, i) => {
    const at = data.length;
    data.push(column(x, (p) => p.median), column(x, (p) => p.high), column(x, (p) => p.low));
    lines.push({ label: x.driver + (harmful(x.points.at(-1)) ? "!" : ""), stroke: color(i), width: 2, spanGaps: true, points: { show: true, size: 6, fill: color(i) }, ...joined(x.points.length), value: (u, v, _, n) => v === null || v === undefined ? "" : figure(v, x.unit) + ends(u.data[at + 2][n], u.data[at + 1][n], x.unit) });
    for (const end of ["upper", "lower"]) lines.push({ label: `${x.driver}, ${end} end`, class: "bound", stroke: "transparent", spanGaps: true, points: { show: false } });
    bands.push({ series: [at + 1, at + 2], fill: color(i) + "33" });
  });
  const marks = series.flatMap((x, i) => [
    ...x.changes.map((c) => ({ at: place.get(c.run), color: color(i), dash: [] })),
    ...x.marks.map((m) => ({ at: place.get(m.run), color: color(i), dash: [3, 4] })),
  ]);
  const draw = (u) => {
    const ctx = u.ctx;
    ctx.save();
    for (const m of marks) {
      const x = Math.round(u.valToPos(m.at - 0.5, "x", true));
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      ctx.strokeStyle = m.color;
      ctx.lineWidth = m.dash.length ? 1 : 2;
      ctx.setLineDash(m.dash);
      ctx.beginPath();
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, u.bbox.top + u.bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  };
  const title = [s.phase, s.of && `of ${s.of}`, pairs(s.parameters), pairs(s.settings), s.scale, s.host].filter(Boolean).join(" · ");
  const shifts = series.flatMap((x) => x.changes.map((c) => ({ x, c, p: x.points[c.at], marks: x.marks.filter((m) => m.run === c.run) })));
  return h("section", {}, h("h2", {}, title),
    picture(`${metric.title} by run: ${title}`, {
      scales: { x: { time: false } },
      axes: [{ label: "run", incrs: [1, 2, 5, 10, 20, 50, 100], values: (_, v) => v.map((i) => runs[i] ?? "") }, { size: 90, values: (_, v) => v.map((x) => figure(x, s.unit)) }],
      series: lines, bands, hooks: { draw: [draw] },
    }, data),
    shifts.length > 0 ? h("ul", {}, shifts.map(({ x, c, p, marks }) => h("li", {}, h("b", {}, x.driver), " changes with ", h("a", { href: "/runs/" + c.run }, `run ${c.run}`), ` of ${moment(p.started)}`,
      c.ratio ? ` to ${times(c.ratio)} of what it was before` : "", marks.length ? `: ${marks.map((m) => m.words).join("; ")}` : "; no version changed there"))) :
      h("p", { class: "quiet" }, "No change of level is found", Math.max(...series.map((x) => x.points.length)) < 24 ? ": it takes about two dozen runs to find one." : "."),
    folded("The figures, and what changed between runs", () => series.map((x) => table(`${metric.title} of ${x.driver}`, [
      { title: "Run", right: true, cell: (p) => h("a", { href: `/runs/${p.run}?case=${p.case}&of=${encodeURIComponent(x.phase)}` }, p.run) },
      { title: "Started", className: "when", cell: (p) => moment(p.started) },
      { title: metric.title, right: true, cell: (p) => figure(p.median, x.unit) }, { title: "Interval", className: "when", cell: (p) => spread(p.median, p.low, p.high) },
      { title: "n", right: true, cell: (p) => p.n }, { title: "Driver", cell: (p) => [p.library || "–", harmMark(p)] }, { title: "SQLite", cell: (p) => p.sqlite || "–" },
      { title: "Changes", className: "text", cell: (p) => [x.changes.some((c) => c.run === p.run) && "a new level begins", ...x.marks.filter((m) => m.run === p.run).map((m) => m.words)].filter(Boolean).join("; ") },
    ], x.points))),
    h("p", { class: "quiet" }, "Solid lines: the level changes, by more than runs of a machine that drifts would. Of 100 pages without a change, at most about five show one. Dotted lines: a version changed."),
    series.some((x) => x.points.some(harmful)) && h("p", { class: "quiet" }, h("span", { class: "warn" }, "! has a known defect that can lose or falsify data and that nothing in this workload rules out"), ", in the newest run shown or in the run of its row."));
}
