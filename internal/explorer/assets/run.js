// The view of one run: its figures by driver, and the samples of a cell.

import { get } from "./api.js";
import { h, table, set, facts, choices, select, input, rove, caveats, harmful, harmMark } from "./dom.js";
import { figure, probability, spread, times, interval, moment, span, count, counted } from "./format.js";
import { asked, some } from "./runs.js";
import { chart, chosenKinds, kinds, picturesOf } from "./charts.js";
import { points } from "./plot.js";

const filters = ["driver", "workload", "variant", "phase"];
const distinct = (list) => [...new Set(list)];

export async function run({ query, path, signal, go }) {
  const id = path.split("/").pop();
  const r = await get("runs/" + encodeURIComponent(id), signal);
  const metric = query.get("metric") || "time";
  const ask = new URLSearchParams([...query].filter(([k]) => filters.includes(k)));
  const only = ask.toString(); // parameters that choose the cells in pictures
  ask.set("metric", metric);
  const [cells, list] = await Promise.all([get(`runs/${r.id}/cells?${ask}`, signal), get(`runs/${r.id}/charts?${only}`, signal)]);
  document.title = `Run ${r.id} · sqlite3perf`;

  const values = {
    driver: distinct(r.cases.map((c) => c.driver)),
    workload: distinct(r.cases.map((c) => c.workload)),
    variant: distinct(r.cases.map((c) => c.variant || "")).filter(Boolean),
    phase: distinct(r.cases.flatMap((c) => c.phases)),
  };
  const keep = (names) => [...new URLSearchParams(location.search)].filter(([k]) => !names.includes(k));
  const form = h("form", {
    class: "filters", change: (e) => {
      if (e.target.name === "find") return;
      const said = new FormData(form);
      go([...keep([...filters, "metric", "picture", "find"]), ...[...said].filter(([k]) => k !== "picture"), ...picturesOf(list, said, metric)]);
    }, submit: (e) => e.preventDefault(),
  },
    select("metric", "Figure", r.metrics.map((m) => [m.name, m.title]), metric),
    input("find", "Find", query.get("find") || "", { type: "search", placeholder: "workload, phase or operation", "data-key": "find", maxlength: 100, input: (e) => find(e.target.value) }),
    choices("driver", "Drivers", values.driver, query.getAll("driver")),
    choices("workload", "Workloads", values.workload, query.getAll("workload")),
    choices("variant", "Settings and parameters", values.variant, query.getAll("variant")),
    choices("phase", "Phases", values.phase, query.getAll("phase")),
    kinds(list, chosenKinds(list, query, metric)),
    h("button", { type: "button", click: () => go([]) }, "Show all"));

  const open = async (c, phase, kind) => {
    await go([...keep(["case", "of", "kind"]), ["case", c], ["of", phase], ["kind", kind || ""]]);
    const there = document.querySelector("section.panel[aria-label=samples]");
    if (!there) return;
    there.focus({ preventScroll: true });
    there.scrollIntoView();
  };
  const known = metric === "time" ? cells.tables : cells.tables.filter((t) => t.cells.some((c) => c.median !== undefined));
  const without = cells.tables.length - known.length; // phases that don't have this figure
  const tables = known.flatMap(byKind);
  const held = tables.find((t) => holds(t, query));
  const chosen = query.get("case") && await samples(r, query, held && held.kind ? "p99:" + held.kind : metric, signal, held,
    (cases) => go([...keep(cases.length ? ["case"] : ["case", "of", "kind"]), ...cases.map((c) => ["case", c])]));
  const cases = new Map(r.cases.map((c) => [c.id, c]));
  const shown = chosenKinds(list, query, metric);
  const pictures = placed(list, shown, cells.tables, tables, (c, n) => chart(c, {
    address: `runs/${r.id}/charts/${encodeURIComponent(c.name)}`, filters: only, fresh: r.trials, n, signal,
    follow: open,
  }));
  const filtered = filters.some((f) => query.has(f)) && "Of all drivers and phases of the run, whatever is chosen below: ";
  const bad = r.cases.filter((c) => c.status !== "ok");
  const inView = r.cases.filter((c) => filters.slice(0, 3).every((f) => !query.has(f) || query.getAll(f).includes(c[f])));
  const parts = tables.map((t) => h("section", { class: "part" }, figures(t, cells.metric, query, open, cases), pictures.below.get(t), t === held && chosen));
  const ahead = new Map([...pictures.ahead].map(([t, list]) => [t, h("div", {}, list)]));
  const found = h("p", { class: "quiet", role: "status" });
  // find shows only the tables whose names contain all words of a text. A word that only the
  // names of drivers contain hides no table; it marks the rows of these drivers.
  function find(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const names = (t, w) => [t.workload, t.variant, t.phase, t.kind ?? (t.operations || []).join(" ")].join(" ").toLowerCase().includes(w);
    const either = (t, w) => names(t, w) || w.endsWith("s") && names(t, w.slice(0, -1));
    const drivers = words.filter((w) => !tables.some((t) => either(t, w)) && values.driver.some((d) => d.toLowerCase().includes(w)));
    tables.forEach((t, i) => { parts[i].hidden = !words.every((w) => drivers.includes(w) || either(t, w)); });
    for (const [of, e] of ahead) e.hidden = !tables.some((t, i) => t.workload === of.workload && !parts[i].hidden);
    for (const row of parts.flatMap((p) => [...p.querySelectorAll("tr[data-driver]")])) row.classList.toggle("found", drivers.some((w) => row.dataset.driver.toLowerCase().includes(w)));
    const n = parts.filter((p) => !p.hidden).length;
    found.textContent = words.length === 0 ? "" : n === 0 ? `No workload, phase or kind of operation here has "${text.trim()}" in its name.` : `${count(n)} of ${counted(tables.length, "table")} found.`;
    const address = new URLSearchParams([...keep(["find"]), ...(text.trim() ? [["find", text.trim()]] : [])]).toString();
    history.replaceState(null, "", location.pathname + (address && "?" + address));
  }
  if (query.get("find")) find(query.get("find"));
  return [
    h("h1", {}, `Run ${r.id}`),
    h("p", { class: "answer" }, filtered && h("span", { class: "quiet" }, filtered), r.answer),
    r.choices && facts(r.choices),
    facts([
      ["how sure", r.how_sure && [r.how_sure, imprecise(r)]],
      ["measured", `${moment(r.started)}${r.ended ? ", " + span((new Date(r.ended) - new Date(r.started)) / 1000) : ""}; ${counted(r.rounds, "round")}${r.unsampled ? "" : ", " + counted(r.trials, "trial")}; ${r.ending}`],
      ["on", [r.machine.hostname, r.machine.cpu, r.machine.cores && r.machine.cores + " cores", r.machine.virtual].filter(Boolean).join(", ")],
      ["asked for", asked(r.asked)],
      ["command", h("code", {}, ["sqlite3perf", ...r.command].join(" "))],
      ["profiled", r.profiled && ["phase ", r.profiled, ", so there are no samples: ", h("a", { href: `/runs/${r.id}/report` }, "its report"), " has the flame graphs, and where the time goes"]],
      ["answers", r.question && ["made for ", h("code", {}, "sqlite3perf " + r.question), ": ", h("a", { href: `/runs/${r.id}/answer` }, "the answer"), ", ", h("a", { href: `/api/v1/runs/${r.id}/answer` }, "the same as JSON")]],
      ["also", (r.profiled || !r.unsampled) && [h("a", { href: `/runs/${r.id}/report` }, "its report"), ", which can be saved and printed; ", h("a", { href: `/api/v1/runs/${r.id}/report` }, "the whole report as JSON"), r.compares ? [", ", h("a", { href: "/compare?first=" + r.id }, "the verdicts of its comparison")] : ""]],
    ]),
    r.beware.length > 0 && h("section", { class: "beware" }, h("h2", {}, "Beware"), caveats(r.beware)),
    defectsOf(r.defects, inView),
    !r.unsampled && bad.length > 0 && h("details", { open: bad.length < 6 }, h("summary", { class: "bad" }, `${bad.length} of ${r.cases.length} cases have no figure`),
      h("ul", {}, alike(bad).map((l) => h("li", {}, h("b", {}, l.map((c) => `${c.driver} on ${c.workload}${c.variant ? " " + c.variant : ""}`).join("; "), `: ${l[0].status}`), l[0].reason ? `: ${l[0].reason.message}` : "")))),
    !r.unsampled && form,
    cells.answer && h("p", { class: "pair" }, filtered && h("span", { class: "quiet" }, "Of all drivers and phases of the run: "), cells.answer),
    !held && chosen,
    !r.unsampled && cells.tables.length === 0 && h("p", {}, "No cell is left: clear a filter."),
    pictures.before,
    list.more > 0 && h("p", { class: "quiet" }, `${count(list.more)} more pictures are left out: choose fewer workloads.`),
    !r.unsampled && cells.tables.length > 0 && query.has("driver") && metric === "time" && h("p", { class: "quiet" }, "Ranks and ties are those among all drivers of the run, those that are not chosen included."),
    !r.unsampled && without > 0 && h("p", { class: "quiet" }, `${count(without)} of ${counted(cells.tables.length, "phase")} ${without === 1 ? "has" : "have"} no ${cells.metric.title}${metric.startsWith("p99") ? ": they time no single operations" : ""}.`),
    !r.unsampled && [found, tables.map((t, i) => [ahead.get(t), parts[i]])],
  ];
}

// imprecise links to the list of the run's imprecise figures in its report.
function imprecise(r) {
  const open = r.caveats.find((c) => c.code === "unsettled");
  return open && !r.compares && !r.study && [". ", h("a", { href: `/runs/${r.id}/report#imprecise-figures` }, `${counted(open.count, "imprecise figure")}, the widest first`)];
}

// alike groups cases by their status and reason.
const alike = (cases) => Object.values(Object.groupBy(cases, (c) => `${c.status} ${c.reason ? c.reason.message : ""}`));

// placed divides the pictures of the chosen kinds by their place in the page. Pictures of the run
// come before all tables, pictures of a workload before its first table, and pictures of a table
// below that table.
function placed(list, chosen, all, tables, draw) {
  const before = [], ahead = new Map(), below = new Map();
  const add = (m, t, e) => m.set(t, [...(m.get(t) || []), e]);
  list.charts.filter((c) => chosen.includes(c.kind)).forEach((c, n) => {
    const is = (t) => t.workload === c.workload && t.phase === c.phase && (t.variant || "") === (c.variant || "");
    const own = tables.findLast(is);
    const first = tables.find((t) => t.workload === c.workload);
    if (!own && all.some(is)) return; // the picture is of a table that is left out
    if (own && c.kind !== "scaling") add(below, own, draw(c, n));
    else if (first) add(ahead, first, draw(c, n));
    else before.push(draw(c, n));
  });
  return { before, ahead, below };
}

// byKind divides a table of 99th percentiles by the kinds of operations.
function byKind(t) {
  const names = distinct(t.cells.flatMap((c) => (c.kinds || []).map((k) => k.name)));
  if (names.length === 0) return t;
  return names.map((name) => {
    const cells = t.cells.map((c) => {
      const k = (c.kinds || []).find((x) => x.name === name);
      return { ...c, n: undefined, median: undefined, low: undefined, high: undefined, ratio: undefined, best_without_harmful_defect: false, ...k };
    });
    return { ...t, of: name, kind: name, cells: cells.sort((a, b) => (a.median ?? Infinity) - (b.median ?? Infinity)) };
  });
}

// holds reports whether a table has the cell whose samples the address asks for.
const holds = (t, query) => query.get("of") === t.phase && (!query.has("kind") || !t.kind || query.get("kind") === t.kind) && t.cells.some((c) => query.getAll("case").includes(String(c.case)));

// better has words that say whether less or more of a metric is better.
const better = { less: ", less is better", more: ", more is better" };

// figures shows the cells of a table as bars with intervals.
function figures(t, metric, query, open, cases) {
  const of = t.of || (metric.name.startsWith("p99:") ? metric.name.slice(4) : "");
  const title = [t.workload, t.variant, t.phase].filter(Boolean).join(" · ");
  const what = t.of ? `${metric.title} of ${t.of}` : metric.title;
  const most = Math.max(...t.cells.map((c) => c.high ?? c.median ?? 0).filter(Number.isFinite), 0) || 1;
  const percent = (v) => Math.max(0, Math.min(100, 100 * v / most)) + "%";
  const here = (c) => query.getAll("case").includes(String(c.case)) && query.get("of") === t.phase;
  const ranked = metric.name === "time";
  const about = (id) => [...library(cases.get(id)), "samples and settings"].join("\n");
  const known = t.cells.map((c) => cases.get(c.case)).some((c) => c.kind);
  const marked = t.cells.some(harmful), sound = t.cells.find((c) => c.best_without_harmful_defect);
  const best = (c) => c === sound || sound && !harmful(c) && (sound.tied_with || []).includes(c.case) && !c.floor;
  const bar = (c) => {
    if (c.median === undefined) return h("span", { class: c.status === "ok" ? "quiet" : "bad", title: c.reason ? c.reason.message : null }, c.status === "ok" ? "not known" : c.status);
    const e = h("div", { class: "track" + (best(c) ? " best" : "") + (ranked && !c.rank || c.floor ? " faded" : ""), "aria-hidden": "true" }, h("div", { class: "fill" }), c.low !== undefined && h("div", { class: "whisker" }));
    return set(e, { "--to": percent(c.median), "--low": percent(c.low ?? 0), "--high": percent(c.high ?? 0) });
  };
  const columns = [
    ranked && { title: "#", right: true, cell: (c) => c.floor ? "floor" : c.rank ? String(c.rank) : "–" },
    {
      title: "Driver", cell: (c) => [h("span", { class: "driver" },
        h("button", { type: "button", "data-key": `cell-${c.case}-${t.phase}${t.kind ? "-" + t.kind : ""}`, title: about(c.case), click: () => open(c.case, t.phase, t.kind) }, c.driver),
        c.added_could_explain_lead_before && h("span", { class: "warn", title: ownLead(c) }, "*"), harmMark(c)),
        c === sound && marked && h("small", { class: "sound" }, "best without !"), c.floor && !ranked && h("small", { class: "quiet" }, "plain C, not a choice")],
    },
    known && { title: "Library", className: "library", cell: (c) => library(cases.get(c.case)).map((x) => h("span", {}, x)) },
    { title: `${metric.title}, with interval`, className: "plot", cell: bar },
    { title: of ? `p99 of ${of}` : metric.title, right: true, cell: (c) => c.median === undefined ? "–" : figure(c.median, t.unit) },
    { title: "Interval", className: "when", cell: (c) => c.median === undefined ? "" : spread(c.median, c.low, c.high) },
    t.base && t.cells.some((c) => c.ratio) && { title: "× " + t.base, right: true, cell: (c) => c.ratio && c.ratio.n ? h("span", { title: interval(c.ratio.interval) }, times(c.ratio.median)) : "–" },
    ranked && { title: "Tied with", className: "text", cell: (c) => some((c.tied_with || []).map((x) => cases.get(x).driver), 4) },
    { title: "n", right: true, cell: (c) => c.n || "–" },
    ranked && { title: "Remarks", className: "text", cell: (c) => remarks(c) },
  ].filter(Boolean);
  return [h("h2", {}, title, of && `: p99 of ${of}`), t.pair && pair(t.pair),
    table(`${title}: ${what}${better[metric.better] || ""}; 95% intervals`, columns, t.cells, (c) => ({ class: here(c) ? "chosen" : null, "data-driver": c.driver }), true),
    legend(t.cells, best, ranked, marked, sound), inForce(t)];
}

// inForce shows the settings with which a table was measured.
function inForce(t) {
  if (!t.settings && !t.settings_differ) return null;
  return h("details", { class: "settings" }, h("summary", {}, "Settings in force"), facts([
    ["all drivers", (t.settings || []).join(", ")],
    ["differ", t.settings_differ && h("ul", {}, t.settings_differ.map((s) => h("li", {}, s)))],
  ]));
}

// library describes the library of a case: how it reaches SQLite, the interface through which it is
// used, and the versions.
const library = (c) => [
  [c.kind, c.interface === "direct" ? "not database/sql" : c.interface].filter(Boolean).join(", "),
  [c.library, c.sqlite && "SQLite " + c.sqlite].filter(Boolean).join(", "),
].filter(Boolean);

// defectsOf lists the known defects in the libraries of the given cases. First come the defects
// that can lose or falsify data here. Defects that do other harm follow in closed details. Defects
// that cannot occur here are left out.
function defectsOf(defects, cases) {
  const having = (d, list) => distinct(cases.filter((c) => (c[list] || []).includes(d.id)).map((c) => c.driver));
  const grave = defects.filter((d) => having(d, "harmful_defects").length > 0);
  const mild = defects.filter((d) => !d.falsifies && !d.elsewhere && having(d, "defects").length > 0);
  const show = (list, field, title, open) => list.length > 0 && h("details", { class: "known", open }, h("summary", {}, title),
    table(title, [
      { title: "Defect", className: "when", cell: (d) => d.id },
      { title: "Effect", cell: (d) => h("span", { class: d.falsifies ? "bad" : null }, d.effect) },
      { title: "What it is", className: "text", cell: (d) => d.title },
      { title: "What it needs", className: "text", cell: (d) => d.needs },
      { title: "Drivers", className: "text", cell: (d) => having(d, field).join(", ") },
    ], list, null, true),
    h("p", {}, h("a", { href: "https://github.com/sqlite3perf/sqlite3perf/blob/main/docs/defects.md" }, "What they mean, and what to do")));
  return [
    show(grave, "harmful_defects", `! ${counted(grave.length, "known defect")} can lose or falsify data in what is shown`, grave.length < 6),
    show(mild, "defects", `${counted(mild.length, "known defect")} of these versions ${mild.length === 1 ? "does" : "do"} other harm`, false),
  ];
}

// pair says how the times of the two chosen drivers differ.
function pair(p) {
  return h("p", { class: "pair" }, h("b", {}, `${p.second} takes ${times(p.ratio.median)} the time of ${p.first}`),
    " ", interval(p.ratio.interval),
    p.p_adjusted === undefined ? "; not compared" : `, p ${probability(p.p_adjusted)}${p.significant ? "" : ": no clear difference"}`,
    p.added_could_explain && h("span", { class: "warn" }, "; ", p.added_could_explain));
}

// legend explains the colors of a table's bars and the mark of its drivers.
function legend(cells, best, ranked, marked, sound) {
  const key = (kind, text) => h("span", {}, set(h("span", { class: "track key " + kind, "aria-hidden": "true" }, h("span", { class: "fill" })), { "--to": "100%" }), " ", text);
  const faded = (c) => c.median !== undefined && (ranked && !c.rank || c.floor);
  return h("p", { class: "tools legend" },
    cells.some(best) && key("best", (marked ? "best without !" : ranked ? "first" : "best") + (ranked ? ", or tied with it" : "")),
    cells.some((c) => c.median !== undefined && !best(c) && !faded(c)) && key("", marked || !sound ? "other drivers" : ranked ? "slower than the first" : "others"),
    cells.some(faded) && key("faded", cells.filter(faded).every((c) => c.floor) ? "plain C" : "without a rank"),
    marked && h("span", { class: "warn" }, "! has a known defect that can lose or falsify data and that nothing in this workload rules out", cells.some((c) => c.median !== undefined && !c.floor && !harmful(c)) ? "" : ", as has every driver here"));
}

// ownLead says that sqlite3perf's overhead may explain why a cell leads.
const ownLead = (c) => `* sqlite3perf's own overhead may explain its lead before ${c.added_could_explain_lead_before}`;

function remarks(c) {
  return [
    c.floor && "plain C: SQLite's C API alone, not a driver", c.unranked, c.too_short && "too short to judge by",
    c.added_could_explain_lead_before && h("span", { class: "warn" }, ownLead(c)),
  ].filter(Boolean).flatMap((x, i) => i ? ["; ", x] : [x]);
}

// samples shows the samples of the chosen cases in one phase, and the settings with which they were measured.
async function samples(r, query, metric, signal, held, choose) {
  const phase = query.get("of") || "";
  const ask = new URLSearchParams([...query.getAll("case").map((c) => ["case", c]), ["phase", phase], ["metric", metric]]);
  const s = await get(`runs/${r.id}/samples?${ask}`, signal);
  return h("section", { class: "panel", "aria-label": "samples", tabindex: "-1" },
    h("h2", {}, `${s.cases.map((c) => c.driver).join(", ")} on ${s.cases[0].workload}, ${phase}: samples in the order measured`),
    s.cases.some((c) => c.samples.length) && points(s, `${s.metric.title}${held && held.of && !held.kind ? ` of ${held.of}` : ""} by trial`, s.unit),
    held && others(held, query.getAll("case"), choose),
    s.cases.some((c) => c.samples.length) && h("p", { class: "quiet" }, "Drag across the picture to zoom in; double-click shows all again."),
    s.cases.map((c) => [
      h("h3", {}, `Settings of ${c.driver}`),
      c.reason && h("p", { class: "bad" }, `${c.status}: ${c.reason.message}`),
      settings(c),
      c.proof && facts([["SQLite", c.proof.sqlite], ["library", [c.proof.module, c.proof.version].filter(Boolean).join(" ")], ["known defects", c.defects && [harmful(c) && h("span", { class: "warn" }, `can lose or falsify data here: ${c.harmful_defects.join(", ")}. `), h("span", { class: "quiet" }, "All of these versions: ", c.defects.join(", "))]]]),
      c.warnings && c.warnings.length > 0 && h("ul", {}, c.warnings.slice(0, 10).map((w) => h("li", { class: "warn" }, (w.round ? `round ${w.round}: ` : "") + w.message))),
      h("details", {}, h("summary", {}, `${counted(c.samples.length, "sample")} as a table${uncounted(c.samples)}`), table(`samples of ${c.driver}`, [
        { title: "Trial", right: true, cell: (x) => x.trial }, { title: "Round", right: true, cell: (x) => x.round },
        { title: s.metric.title, right: true, cell: (x) => figure(x.value, s.unit) },
        { title: "Wall time", right: true, cell: (x) => figure(x.wall_ns / 1e9, "s") },
        { title: "Operations", right: true, cell: (x) => count(x.operations) }, { title: "Failed", right: true, cell: (x) => count(x.failed || 0) },
        { title: "Remarks", cell: (x) => !x.counts ? "disturbed by other processes and measured again" : x.robbed ? "disturbed by other processes" : "" },
      ], c.samples)),
    ]),
    h("button", {
      type: "button", click: async () => {
        await choose([]);
        const from = [...document.querySelectorAll("[data-key]")].find((e) => e.dataset.key === `cell-${s.cases[0].id}-${phase}${held && held.kind ? "-" + held.kind : ""}`);
        if (from) from.focus();
      },
    }, "Close"));
}

// uncounted says how many samples do not count for the figure, and why.
function uncounted(samples) {
  const n = samples.filter((x) => !x.counts).length;
  return n ? `; ${count(n)} of trials that other processes disturbed and that were measured again ${n === 1 ? "does" : "do"} not count` : "";
}

// others makes check boxes that add the samples of a table's other drivers to the picture.
function others(t, cases, choose) {
  const measured = t.cells.filter((c) => c.n > 0);
  if (measured.length < 2) return null;
  const toggle = (id) => choose(cases.includes(id) ? cases.filter((c) => c !== id) : [...cases, id].slice(-20));
  return h("fieldset", { class: "plain" }, h("legend", { class: "quiet" }, "In the picture"), rove(h("div", { class: "choices" }, measured.map((c) => {
    const id = String(c.case);
    return h("label", {}, h("input", { type: "checkbox", "data-key": "with-" + id, checked: cases.includes(id), change: () => toggle(id) }), c.driver, harmMark(c));
  }))));
}

const quiet = (text) => h("span", { class: "quiet" }, text);

// settings shows a case's settings: as requested, as in force, and as each connection read them
// back.
function settings(c) {
  const names = distinct([...Object.keys(c.settings), ...Object.keys(c.in_force), ...(c.proof ? c.proof.connections.flatMap(Object.keys) : [])]).sort();
  const said = (proof, name) => {
    const values = proof ? proof.connections.map((x) => x[name]) : [];
    const all = distinct(values);
    if (all.length < 2) return all[0];
    return h("span", { class: "warn" }, all.map((v) => `connection ${values.flatMap((x, i) => x === v ? [i + 1] : []).join(", ")}: ${v ?? "not read"}`).join("; "));
  };
  const ok = c.status === "ok"; // otherwise the settings in force in the phase are not known
  return table(`settings: requested${ok ? ", in force at the end of the phase," : ""} and read back from the connections`, [
    { title: "Setting", cell: (n) => n }, { title: "Requested", cell: (n) => c.settings[n] ?? quiet("not asked for") },
    ok && { title: "In force", cell: (n) => c.in_force[n] ?? quiet("not read") }, { title: "Read back when opened", cell: (n) => said(c.proof, n) || quiet("not read") },
    c.read_back && { title: "Read back after " + (c.read_back.after || "the schema"), cell: (n) => said(c.read_back, n) || quiet("not read") },
  ].filter(Boolean), names);
}
