// The view that lists runs.

import { get } from "./api.js";
import { h, table, select, input } from "./dom.js";
import { moment, span, count, counted } from "./format.js";

export const some = (list, n) => list.slice(0, n).join(", ") + (list.length > n ? ` and ${list.length - n} more` : "");

export const asked = (a) => a ? [
  ...Object.entries(a.settings || {}).map(([k, v]) => `${k}=${v.join(",")}`),
  ...Object.entries(a.parameters || {}).map(([k, v]) => `${k}=${v.join(",")}`),
].join(" ") : "";

const began = new Map(); // when runs began, by number

// older returns the numbers of runs, sorted: the run that began first comes first.
const older = (ids) => [...ids].sort((a, b) => new Date(began.get(a) || 0) - new Date(began.get(b) || 0) || a - b);

// instant returns a day and a time of the reader's time zone as a moment that the server understands.
function instant(day, time) {
  const t = new Date(`${day}T${time}`);
  return Number.isNaN(t.getTime()) ? day : t.toISOString();
}

export async function runs({ query, signal, go }) {
  const sort = query.get("sort") || "started", order = query.get("order") || "desc";
  const chosen = query.getAll("pick").slice(0, 2);
  const ask = new URLSearchParams([...query].filter(([k, v]) => k !== "pick" && v));
  for (const [name, time] of [["since", "00:00:00"], ["until", "23:59:59.999"]]) if (ask.has(name)) ask.set(name, instant(ask.get(name), time));
  if (ask.has("q")) ask.set("zone", Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [list, now] = await Promise.all([get("runs?" + ask, signal), get("current", signal)]);
  for (const r of list.runs) began.set(String(r.id), r.started);
  await Promise.all(chosen.filter((id) => !began.has(id)).map((id) => get("runs/" + encodeURIComponent(id), signal).then((r) => began.set(id, r.started), () => {})));
  const running = now.runs.map((r) => r.run);
  const change = (changes) => go([...[...query].filter(([k]) => !(k in changes) && k !== "page"), ...Object.entries(changes)]);
  const one = (name) => query.get(name) || "";
  const any = (values) => [["", "any"], ...values.map((v) => [v, v])];

  const form = h("form", { class: "filters pairs", role: "search", submit: (e) => { e.preventDefault(); apply(); }, change: () => apply() },
    input("q", "Search", one("q"), { type: "search", placeholder: "date, driver, setting …", "data-key": "q", maxlength: 200 }),
    select("driver", "Driver", any(list.drivers), one("driver")),
    select("workload", "Workload", any(list.workloads), one("workload")),
    select("state", "State", any(list.states), one("state")),
    input("since", "Since", one("since"), { type: "date" }),
    input("until", "Until", one("until"), { type: "date" }),
    h("button", { type: "submit" }, "Show"),
    h("button", { type: "button", click: () => go([]) }, "Clear"));
  function apply() {
    change(Object.fromEntries(new FormData(form)));
  }

  const head = (key, title) => h("button", {
    type: "button", "data-key": "sort-" + key,
    click: () => change({ sort: key, order: sort === key && order === "desc" ? "asc" : "desc" }),
  }, title + (sort === key ? (order === "desc" ? " ↓" : " ↑") : ""));
  const sorted = (key) => sort === key ? (order === "desc" ? "descending" : "ascending") : null;
  const pick = (id) => {
    const s = String(id);
    const picks = chosen.includes(s) ? chosen.filter((c) => c !== s) : [...chosen, s].slice(-2);
    go([...[...query].filter(([k]) => k !== "pick"), ...picks.map((p) => ["pick", p])], true);
  };
  const columns = [
    { title: "Pick", cell: (r) => h("input", { type: "checkbox", "aria-label": `choose run ${r.id} to compare`, "data-key": "pick-" + r.id, checked: chosen.includes(String(r.id)), change: () => pick(r.id) }) },
    { title: "Run", right: true, cell: (r) => h("a", { href: "/runs/" + r.id }, String(r.id)) },
    { title: head("state", "State"), name: "State", sorted: sorted("state"), className: "state", cell: (r) => state(r, running.includes(r.id)) },
    { title: head("started", "Started"), name: "Started", sorted: sorted("started"), className: "when", cell: (r) => moment(r.started) },
    { title: head("took", "Took"), name: "Took", right: true, sorted: sorted("took"), cell: (r) => r.ended ? span((new Date(r.ended) - new Date(r.started)) / 1000) : "–" },
    { title: head("trials", "Trials"), name: "Trials", right: true, sorted: sorted("trials"), cell: (r) => r.profiled || r.state === "answer" ? "–" : count(r.trials) },
    { title: head("drivers", "Drivers"), name: "Drivers", sorted: sorted("drivers"), className: "text", cell: (r) => some(r.drivers, 5) },
    { title: head("workload", "Workloads"), name: "Workloads", sorted: sorted("workload"), className: "text", cell: (r) => some(r.workloads, 5) },
    { title: "Settings", className: "text", cell: (r) => asked(r.asked) },
    { title: "Scale", cell: (r) => r.scale },
    { title: "Machine", className: "text", cell: (r) => r.host },
  ];
  const [base, other] = older(chosen);
  const caption = list.matching === list.total ? counted(list.total, "run") : `${count(list.matching)} of ${counted(list.total, "run")}`;
  const page = (n, text) => h("button", { type: "button", disabled: n < 1 || n > list.pages, click: () => go([...[...query].filter(([k]) => k !== "page"), ["page", n]]) }, text);
  return [
    h("h1", {}, "Runs"),
    running.length > 0 && h("p", { class: "panel" }, h("a", { href: "/measure" }, `Run ${running.join(", ")} is being measured`)),
    form,
    h("p", { class: "pages" },
      other ? h("a", { href: `/compare?first=${base}&second=${other}` }, `Compare run ${other} (${moment(began.get(other))}) with the older run ${base} (${moment(began.get(base))})`) :
        h("a", { href: "/compare" }, base ? `Choose another run to compare it with run ${base}` : "Choose two runs to compare them")),
    list.total === 0 ? h("p", {}, "There are no runs in this store yet. ", h("code", {}, "sqlite3perf run"), " measures one, and so does ", h("a", { href: "/measure" }, "this page"), ".") :
      table(caption, columns, list.runs, (r) => ({ class: chosen.includes(String(r.id)) ? "chosen" : null }), true),
    list.pages > 1 && h("nav", { class: "pages", "aria-label": "Pages of the list" }, page(list.page - 1, "← Back"), `page ${list.page} of ${list.pages}`, page(list.page + 1, "More →")),
  ];
}

// state says how a run ended and what problems it has. It is green only for a run without problems.
function state(r, running) {
  if (running) return h("a", { class: "state running", href: "/measure" }, "being measured");
  const bad = Object.entries(r.bad);
  const words = [
    r.profiled ? "profile of " + r.profiled : r.state === "answer" ? "answer of " + r.question : r.damaged ? "damaged" : r.ending,
    bad.length > 0 && `${bad.map(([s, n]) => `${count(n)} ${s}`).join(", ")} of ${counted(r.cases, "case")}`,
    r.warned.length > 0 && "warnings: " + some(r.warned, 3),
  ].filter(Boolean).join("; ");
  const color = bad.length ? "incomplete" : r.state === "complete" && r.warned.length ? "warned" : r.state;
  return h("span", { class: "state " + color, title: r.damaged || null }, words);
}
