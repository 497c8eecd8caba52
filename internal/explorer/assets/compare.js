// The view that compares two runs, or the two sides of a run.

import { get } from "./api.js";
import { h, table, set, facts, input, caveats } from "./dom.js";
import { probability, times, interval, moment, count, counted } from "./format.js";
import { some } from "./runs.js";

// side returns the names of a side's drivers as text.
const side = (drivers) => drivers.length > 0 && `: ${some(drivers, 6)}`;

const words = { bad: "no figure", differing: "answers differ", "more failed": "more operations failed", "fewer failed": "fewer operations failed" };
const classes = { slower: "bad", faster: "state complete", bad: "bad", differing: "bad", "more failed": "bad", "fewer failed": "bad", unclear: "warn" };

export async function compare({ query, signal, go }) {
  const first = query.get("first") || "", second = query.get("second") || "", margin = query.get("margin") || "";
  const known = (await get("runs?size=200", signal)).runs;
  const began = (id) => new Date((known.find((r) => String(r.id) === id) || {}).started || NaN);
  // inOrder returns the parameters that a form has, with the older run first.
  const inOrder = (form) => {
    const a = form.get("first"), b = form.get("second");
    return [...began(b) < began(a) ? [["first", b], ["second", a]] : [["first", a], ["second", b]], ["margin", form.get("margin")]];
  };
  const dated = (id) => { const r = known.find((r) => String(r.id) === id); return h("small", {}, r ? moment(r.started) : ""); };
  const list = h("datalist", { id: "known" }, known.map((r) => h("option", { value: r.id }, `${moment(r.started)} ${some(r.drivers, 3)} on ${some(r.workloads, 3)}`)));
  const run = (name, label, value, required) => h("label", {}, label, h("input", { name, value, type: "number", min: 1, required, list: "known" }), dated(value));
  const form = h("form", { class: "filters pairs", submit: (e) => { e.preventDefault(); go(inOrder(new FormData(form))); }, input: (e) => {
    if (e.target.list) e.target.nextSibling.replaceWith(dated(e.target.value));
  } },
    run("first", "Base run", first, true), run("second", "Compared with it", second, false), list,
    input("margin", "Same if within (0.02: 2%)", margin, { type: "number", min: "0.0001", max: "0.9999", step: "any", placeholder: "0.02" }),
    h("button", { type: "submit", class: "main" }, "Compare"),
    first && second && h("button", { type: "button", click: () => go([["first", second], ["second", first], ["margin", margin]]) }, "Swap the two"));
  const head = [h("h1", {}, "Compare"), form];
  if (!first) return [...head, h("p", {}, "Is a run slower than the base? Give the numbers of two runs: the older one becomes the base, and a button swaps them. Or give one that was made by ", h("code", {}, "sqlite3perf compare"), ".")];
  let c;
  try {
    c = await get("compare?" + query, signal);
  } catch (err) {
    if (signal.aborted) throw err;
    return [...head, h("p", { class: "error", role: "alert" }, err.message)];
  }
  const logs = c.cells.filter((x) => x.ratio).flatMap((x) => [x.ratio.interval?.low, x.ratio.interval?.high, x.ratio.median]).filter((v) => v > 0 && Number.isFinite(v)).map(Math.log);
  const most = Math.max(Math.log(1.1), ...logs.map(Math.abs));
  const percent = (v) => Math.max(0, Math.min(100, 50 + 50 * Math.log(v) / most)) + "%";
  const bar = (x) => {
    if (!x.ratio) return h("span", { class: "bad" }, x.why || x.first_status + " / " + x.second_status);
    const i = x.ratio.interval;
    return set(h("div", { class: "track", "aria-hidden": "true" }, h("div", { class: "one" }), i && h("div", { class: "whisker" }), h("div", { class: "point" })),
      { "--from": "50%", "--to": percent(x.ratio.median), "--low": percent(i ? Math.max(i.low, 1e-9) : 1), "--high": percent(i ? i.high : 1) });
  };
  const doubted = c.same_builds && !c.interleaved; // changes of the machine may explain every verdict
  const kind = (x) => doubted && (x.verdict === "slower" || x.verdict === "faster") ? "warn" : classes[x.verdict];
  const one = c.runs.length < 2 || c.runs[0] === c.runs[1];
  const beware = [[c.first, c.first_beware], [c.second, c.second_beware]].slice(0, one ? 1 : 2);
  const name = (x) => [x.workload, x.variant, x.phase].filter(Boolean).join(" · ");
  const said = new Map(c.cells.map((x, i) => [x, c.words[i]])); // the verdict on each cell in words
  const when = (i) => c.started[i] && ` of ${moment(c.started[i])}`;
  return [...head,
    h("p", { class: "answer" }, c.beware && [h("span", { class: "warn" }, c.beware), " "], c.answer),
    facts([
      ["base", [c.first, when(0), side(c.first_drivers), " ", c.runs[0] && h("a", { href: "/runs/" + c.runs[0] }, "figures")]],
      ["compared", [c.second, when(1), side(c.second_drivers), " ", h("a", { href: "/runs/" + (c.runs[1] || c.runs[0]) }, "figures")]],
      ["measured", c.interleaved ? "in the same rounds" : "at different times"],
      ["builds", c.cells.length === 0 || one ? "" : c.same_builds ? "the same on both sides, as the workers proved them" : "not the same, or not proven"],
      ["machines differ", (c.machine_differences || []).join("; ")],
      ["over all", c.mean && c.mean.n ? `${times(c.mean.median)} the time ${interval(c.mean.interval)}` : ""],
      ["left out", c.left_out || ""],
      ["not in both", (c.alone || []).length ? h("details", {}, h("summary", {}, counted(c.alone.length, "cell")), h("ul", {}, c.alone.map((a) => h("li", {}, a)))) : ""],
    ]),
    c.differences.length > 0 && h("details", { open: c.differences.length < 8 }, h("summary", {}, `In what the sides differ, as their workers proved it: ${some(c.differences.map((d) => d.what), 6)}`),
      table("what differs between the sides", [
        { title: "What", cell: (d) => d.what }, { title: c.first, className: "text", cell: (d) => d.first },
        { title: c.second, className: "text", cell: (d) => d.second }, { title: "In", className: "text", cell: (d) => d.in },
      ], c.differences, null, true)),
    h("div", { class: "grid" }, beware.filter(([, l]) => l.length).map(([side, l]) => h("section", {}, h("h2", {}, `Beware: ${one ? "the run" : side}`), caveats(l)))),
    c.cells.length > 0 && c.beware && h("p", { class: "warn" }, c.beware),
    c.cells.length > 0 && table(`ratios of ${c.second} to ${c.first}, the base; right of the line ${c.second} takes longer`, [
      { title: "Verdict", cell: (x) => h("span", { class: kind(x) }, words[x.verdict] || said.get(x)) },
      { title: "Cell", className: "text", cell: name },
      { title: "Ratio", right: true, cell: (x) => x.ratio ? times(x.ratio.median) : "–" },
      { title: "Interval", right: true, className: "ends", cell: (x) => x.ratio ? interval(x.ratio.interval) : "" },
      { title: "Ratio and interval", className: "plot", cell: bar },
      { title: "p", right: true, cell: (x) => x.p_adjusted === undefined ? "" : probability(x.p_adjusted) },
      c.cells.some((x) => x.further_rounds) && { title: "More rounds", cell: (x) => x.further_rounds ? `about ${count(x.further_rounds)}` : "" },
    ].filter(Boolean), c.cells),
    c.cells.some((x) => x.ratio) && h("p", { class: "quiet" }, "slower, faster: the difference is clear, which is a mistake with a probability of at most 1%. probably: at most 5%. Intervals are those of clear differences (99%)."),
  ];
}
