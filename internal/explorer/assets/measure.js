// The view of runs that are being measured now, with a form that starts a run.

import { get, change } from "./api.js";
import { h, table, set, facts, input } from "./dom.js";
import { figure, percent, times, span, count, moment } from "./format.js";
import { picture, color } from "./plot.js";

export async function measure({ query, signal, go }) {
  const [choices, now] = await Promise.all([get("choices", signal), get("current", signal)]);
  const live = h("div", { "aria-live": "off" });
  const said = h("p", { class: "error", role: "alert", hidden: true });
  const histories = new Map(); // by run: the widths of its intervals over time
  const act = async (method, body) => {
    said.hidden = true;
    try {
      show(await change(method, "current", body));
    } catch (err) {
      said.textContent = err.message;
      said.hidden = false;
      said.scrollIntoView({ block: "nearest" });
    }
  };

  function show(c) {
    const focused = live.contains(document.activeElement) && document.activeElement.dataset.key;
    const open = [...live.querySelectorAll("details[data-key]")].filter((d) => d.open).map((d) => d.dataset.key);
    const job = c.job, busy = c.runs.length > 0 || (job && job.state !== "ended");
    live.replaceChildren(...[
      job && jobPanel(job, act),
      c.runs.map((r) => progress(r, histories)),
      !busy && !job && h("p", { class: "quiet" }, "Nothing is being measured."),
    ].flat(Infinity).filter(Boolean));
    for (const d of live.querySelectorAll("details[data-key]")) if (open.includes(d.dataset.key)) d.open = true;
    const again = focused && [...live.querySelectorAll("[data-key]")].find((e) => e.dataset.key === focused);
    if (again) again.focus({ preventScroll: true });
    start.disabled = busy;
  }

  const start = h("button", { type: "submit", class: "main" }, "Start");
  const form = startForm(choices, query, start, go, (wanted) => act("POST", wanted));
  show(now);
  let events;
  const listen = () => {
    if (signal.aborted) return;
    events = new EventSource("/api/v1/current/events");
    events.onmessage = (e) => { if (live.isConnected || signal.aborted === false) show(JSON.parse(e.data)); };
    events.addEventListener("failure", (e) => { said.textContent = JSON.parse(e.data).error; said.hidden = false; });
    // If the server had too many streams, the browser closes its stream and does not reconnect.
    events.onerror = () => { if (events.readyState === EventSource.CLOSED) setTimeout(listen, 10000); };
  };
  listen();
  signal.addEventListener("abort", () => events.close());
  return [
    h("h1", {}, "Measure"),
    said, live,
    choices.can_start ? [h("h2", {}, "Start a run"), form] :
      h("p", {}, `This page only shows what is being measured into this store: ${choices.why_not}.`),
  ];
}

// jobPanel shows the run that was started from this page.
function jobPanel(job, act) {
  const ended = job.state === "ended";
  const outcome = !ended ? "" : { 0: "All was measured.", 4: "Some cells were refused, wrong or failed, or nothing could be measured.", 130: "It was stopped; what was measured is kept." }[job.status] || "It failed: see what it said.";
  return h("section", { class: "panel", "aria-label": "run started here" },
    h("h2", {}, job.run ? h("a", { href: "/runs/" + job.run }, `Run ${job.run}`) : "New run", `, ${job.state}`),
    facts([["drivers", (job.wanted.drivers || []).join(", ") || "the usual"], ["workloads", (job.wanted.workloads || []).join(", ") || "the usual"], ["started", moment(job.started)], ["outcome", outcome]]),
    !ended && h("p", {}, h("button", { type: "button", "data-key": "stop", click: () => act("DELETE") }, job.state === "stopping" ? "Stop at once" : "Stop after the current trials")),
    h("details", { "data-key": "said", open: job.state === "preparing" || (ended && job.status !== 0) }, h("summary", {}, "What it says"), h("pre", { tabindex: "0" }, job.messages.join("\n") || "nothing yet")));
}

// progress shows how much of a run has been measured.
function progress(r, histories) {
  const spreads = r.figures.map((f) => f.spread).filter((v) => v !== undefined).sort((a, b) => a - b);
  const history = histories.get(r.run) || [[], [], []];
  histories.set(r.run, history);
  if (spreads.length && history[0].at(-1) !== r.trials) {
    history[0].push(r.trials);
    history[1].push(spreads[spreads.length >> 1]);
    history[2].push(spreads.at(-1));
  }
  const all = r.figures.length + (r.more || 0), left = (r.left_ns || 0) / 1e9, elapsed = r.elapsed_ns / 1e9;
  const rounds = r.schedule && r.schedule.rounds;
  const share = left > 0 ? elapsed / (elapsed + left) : null;
  const figures = [...r.figures].sort((a, b) => (a.settled - b.settled) || (b.spread ?? 99) - (a.spread ?? 99));
  const most = Math.max(0.02, ...figures.map((f) => Math.min(f.spread ?? 0, 1)));
  return h("section", { class: "panel", "aria-label": `run ${r.run} in progress` },
    h("h2", {}, h("a", { href: "/runs/" + r.run }, `Run ${r.run}`), " is being measured"),
    h("p", {}, h("progress", { value: share === null ? null : share.toFixed(3), max: 1, "aria-label": "share of the time" })),
    facts([
      ["rounds", `${count(r.rounds)} complete${rounds ? ` of ${count(rounds)}` : ""}, ${count(r.trials)} trials`],
      ["time", `${span(elapsed)} so far${left > 0 ? `, about ${span(left)} left` + (rounds ? "" : " at most: it ends when everything is settled") : ", the time left is not known yet"}`],
      ["precision", r.precision && !rounds ? `${count(r.settled)} of ${count(all)} figures are precise to ±${percent(r.precision)}` : ""],
      ["command", h("code", {}, ["sqlite3perf", ...r.command].join(" "))],
      ["stop it", r.here ? "" : "where it was started, with Ctrl-C; if a server started it that has ended, it stops after its current trials"],
    ]),
    r.bad.length > 0 && h("ul", {}, r.bad.map((c) => h("li", { class: "bad" }, `${c.driver} on ${c.workload}: ${c.status}${c.reason ? ": " + c.reason.message : ""}`))),
    history[0].length > 1 && picture("how wide the intervals are, by trials", {
      scales: { x: { time: false } }, axes: [{ label: "trials" }, { size: 70, values: (_, v) => v.map(percent) }],
      series: [{ label: "trials" }, { label: "half of the intervals are within ±", stroke: color(0), width: 2, value: (_, v) => v === null ? "–" : percent(v) }, { label: "the widest ±", stroke: color(1), width: 2, dash: [6, 4], value: (_, v) => v === null ? "–" : percent(v) }],
    }, history.map((x) => [...x]), 180),
    figures.length > 0 && [
      figuresTable("figures so far, the least known first: ratios of times, round by round, or medians", figures.slice(0, shown), most),
      all > shown && h("details", { "data-key": "figures-" + r.run }, h("summary", {}, `${count(all - shown)} more`), figuresTable("more figures", figures.slice(shown), most)),
    ]);
}

const shown = 20;

function figuresTable(caption, figures, most) {
  return table(caption, [
    { title: "Cell", className: "text", cell: (f) => [f.workload, f.variant, f.phase].filter(Boolean).join(" · ") },
    { title: "Driver", cell: (f) => f.driver },
    { title: "Figure", right: true, cell: (f) => f.base ? `${times(f.median)} ${f.base}` : figure(f.median, "s") },
    { title: "Width of the interval", className: "plot", cell: (f) => f.spread === undefined ? h("span", { class: "quiet" }, "too few rounds") : set(h("div", { class: "track" + (f.settled ? " best" : ""), "aria-hidden": "true" }, h("div", { class: "fill" })), { "--to": 100 * Math.min(1, f.spread / most) + "%" }) },
    { title: "±", right: true, cell: (f) => f.spread === undefined ? "–" : percent(f.spread) },
    { title: "n", right: true, cell: (f) => f.summary.n },
    { title: "State", cell: (f) => f.settled ? "settled" : "" },
  ], figures);
}

// rows makes text inputs for any number of values. options are suggestions ([value, description]).
// The last input is always empty.
function rows(name, legend, values, options, placeholder) {
  const id = "known-" + name;
  const box = h("div", { class: "rows", input: () => { if (box.lastElementChild.value) add(""); } });
  const add = (value) => box.append(h("input", { name, value, list: id, placeholder, "aria-label": legend, size: 26, maxlength: 500 }));
  for (const v of [...values, ""]) add(v);
  return h("fieldset", {}, h("legend", {}, legend), box, h("datalist", { id }, options.map(([value, text]) => h("option", { value }, text))));
}

// listed makes a text input with a list of suggestions.
const listed = (name, label, value, options, attributes) => [
  input(name, label, value, { list: "known-" + name, ...attributes }), h("datalist", { id: "known-" + name }, options.map((v) => h("option", { value: v })))];

// parameters returns suggestions for the parameters of workloads: the values of the scales quick and
// full.
function parameters(workloads) {
  const known = new Map();
  for (const w of workloads) for (const p of w.parameters || []) for (const scale of ["quick", "full"]) {
    const value = `${p.name}=${p[scale].join(",")}`;
    known.set(value, [...(known.get(value) || []), `${w.name}, ${scale}`]);
  }
  return [...known].map(([value, of]) => [value, of.slice(0, 3).join("; ") + (of.length > 3 ? " …" : "")]);
}

// startForm makes the form that starts a run. The address has all choices, so that a link shows the
// same form again.
function startForm(choices, query, start, go, begin) {
  const chosen = (name, list) => query.has(name) ? query.getAll(name) : list.filter((c) => c.usual).map((c) => c.name);
  const boxes = (name, legend, list) => h("fieldset", {}, h("legend", {}, legend), h("div", { class: "choices" },
    list.map((c) => h("label", { title: c.about }, h("input", { type: "checkbox", name, value: c.name, checked: chosen(name, list).includes(c.name) }), c.name))));
  const versions = chosen("driver", choices.drivers).filter((d) => d.includes("@"));
  const lines = (name) => query.getAll(name).flatMap((text) => text.split("\n"));
  const form = h("form", { class: "filters", submit: (e) => { e.preventDefault(); send(); }, change: () => remember() },
    boxes("driver", "Drivers", choices.drivers),
    choices.drivers.some((d) => d.versions) && rows("version", "Also these versions", versions, choices.drivers.flatMap((d) => (d.known_versions || []).map((v) => [`${d.name}@${v}`, ""])), "mattn@v1.14.22"),
    boxes("workload", "Workloads", choices.workloads),
    rows("set", "Settings, also several values", lines("set"), choices.settings.flatMap((s) => (s.values || s.tried || []).map((v) => [`${s.name}=${v}`, s.about])), "journal_mode=wal,delete"),
    rows("param", "Parameters, also several values", lines("param"), parameters(choices.workloads), "clients=1,4"),
    listed("scale", "Scale", query.get("scale") || "quick", choices.scales, { size: 8, maxlength: 20 }),
    listed("minutes", "Minutes at most", query.get("minutes") || "5", [1, 5, 10, 30, 60], { type: "number", min: "0.1", max: 1440, step: "any" }),
    listed("rounds", "Exactly this many rounds", query.get("rounds") || "", [6, 10, 20, 50, 100], { type: "number", min: 6, max: 100000, placeholder: "until settled" }),
    start,
    h("details", {}, h("summary", {}, "Which settings there are"), h("ul", {}, choices.settings.map((s) => h("li", {}, h("code", {}, s.name), `: ${s.about}; ${s.want}`)))));
  const values = () => {
    const f = new FormData(form);
    return { f, drivers: [...f.getAll("driver"), ...f.getAll("version").flatMap((v) => v.split(/[\s,]+/)).filter(Boolean)], workloads: f.getAll("workload") };
  };
  function remember() {
    const { f, drivers, workloads } = values();
    const q = new URLSearchParams([...drivers.map((d) => ["driver", d]), ...workloads.map((w) => ["workload", w]),
      ...["set", "param", "scale", "minutes", "rounds"].flatMap((n) => f.getAll(n).map((v) => [n, v])).filter(([, v]) => v)]);
    history.replaceState(null, "", location.pathname + "?" + q);
  }
  const factors = (lines, number) => {
    const all = {};
    for (const l of lines.map((l) => l.trim()).filter(Boolean)) {
      const [name, list = ""] = l.split(/=(.*)/s);
      all[name.trim()] = [...(all[name.trim()] || []), ...list.split(",").map((v) => number ? Number(v) : v.trim())];
    }
    return all;
  };
  function send() {
    const { f, drivers, workloads } = values();
    begin({
      drivers, workloads, settings: factors(f.getAll("set")), parameters: factors(f.getAll("param"), true), scale: f.get("scale").trim(),
      rounds: Number(f.get("rounds")) || 0, time_seconds: f.get("rounds") ? 0 : Math.max(1, Math.round(60 * Number(f.get("minutes") || 5))),
    });
  }
  return form;
}
