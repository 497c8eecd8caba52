// Pictures of a run, drawn by the server. A mark in a picture shows exact figures when the reader
// points at it, and links to the samples behind it.

import { get } from "./api.js";
import { h, table, rove } from "./dom.js";
import { count } from "./format.js";

const none = "none"; // value of the parameter "picture" that means no pictures

// usual reports whether a kind of pictures is shown unless the reader chooses others. Pictures of
// times are usual only for times.
const usual = (kind, metric) => {
  if (metric === "memory") return kind.name === "tradeoff";
  if (metric.startsWith("p99")) return kind.name === "latency";
  return Boolean(kind.usual) && (metric === "time" || metric === "rate" || kind.name !== "summary" && kind.name !== "ratios");
};

// chosenKinds returns the kinds of pictures that the parameters of an address choose. If they
// choose none, it returns the usual kinds of a metric.
export const chosenKinds = (list, query, metric) => query.has("picture") ? query.getAll("picture") : list.kinds.filter((k) => usual(k, metric)).map((k) => k.name);

// kinds makes a group of check boxes, one for each kind of picture that the run has.
export function kinds(list, chosen) {
  if (list.kinds.length === 0) return null;
  return h("fieldset", {}, h("legend", {}, "Pictures"), rove(h("div", { class: "choices" },
    list.kinds.map((k) => h("label", {}, h("input", { type: "checkbox", name: "picture", value: k.name, "data-key": "picture-" + k.name, checked: chosen.includes(k.name) }), k.title)))));
}

// picturesOf returns the parameters of an address for the kinds of pictures chosen in a form. It
// returns an empty list if the usual kinds of the metric are chosen.
export function picturesOf(list, form, metric) {
  const chosen = form.getAll("picture");
  if (list.kinds.every((k) => chosen.includes(k.name) === usual(k, metric))) return [];
  return (chosen.length ? chosen : [none]).map((k) => ["picture", k]);
}

const eager = 6; // number of pictures that are drawn at once; others are drawn when the reader scrolls near them
const kept = new Map(); // last answers of the server, so that a view does not jump when it is built again
const mostKept = 40;

const near = new IntersectionObserver((entries) => {
  for (const e of entries) if (e.isIntersecting) e.target.dispatchEvent(new Event("near"));
}, { rootMargin: "800px" });

// chart makes a picture. address is its path in the API, n is its position in the page. The value
// of fresh changes when the run changes.
export function chart(c, { address, filters, fresh, n, signal, follow }) {
  const place = h("div", { class: "drawn" });
  const behind = h("details", {}, h("summary", {}, "Figures"));
  const save = (kind) => h("a", { href: `/api/v1/${address}.${kind}?${filters}`, download: `${c.name}.${kind}`, "aria-label": `Save as ${kind.toUpperCase()}: ${c.title}` }, kind.toUpperCase());
  // The picture with its links is one stop of the Tab key. The arrow keys move within it: see
  // marks.js.
  const saves = [save("svg"), save("png")];
  saves[1].setAttribute("tabindex", "-1");
  const figure = h("figure", { class: "picture", "data-name": c.name, "data-kind": c.kind, click: (e) => leave(e, follow) },
    h("div", { "data-keys": "" }, place, h("p", { class: "tools" }, "Save as", saves)),
    c.note && h("figcaption", {}, c.note), behind);
  let width = 0, asked = 0;

  function show(d) {
    // Markup, not text: the server escapes the texts in it, and the page's policy allows no script.
    place.replaceChildren(new DOMParser().parseFromString(d.svg, "text/html").body.firstElementChild);
    behind.replaceChildren(behind.firstElementChild, table(`Figures of ${c.title}`, d.columns.map((title, i) => ({ title: title || "name", cell: (row) => row[i] })), d.rows),
      d.more ? h("p", {}, `${count(d.more)} more are in the JSON report.`) : "");
    place.style.removeProperty("min-height");
    const marked = place.querySelector("[data-tip]") !== null;
    saves.forEach((a, i) => a.setAttribute("tabindex", marked || i > 0 ? "-1" : "0"));
  }
  async function draw() {
    const room = Math.round(Math.max(280, Math.min(place.clientWidth, 960)));
    if (!place.isConnected || Math.abs(room - width) < 24) return; // unchanged, or narrower by a scroll bar only
    width = room;
    const own = ++asked;
    figure.setAttribute("aria-busy", "true");
    try {
      const d = await get(`${address}?${filters}&width=${width}`, signal);
      if (own !== asked) return;
      kept.delete(address + filters);
      kept.set(address + filters, { fresh, width, d });
      if (kept.size > mostKept) kept.delete(kept.keys().next().value);
      show(d);
    } catch (err) {
      if (signal.aborted) return;
      place.replaceChildren(h("p", { class: "error" }, err.message));
    }
    figure.removeAttribute("aria-busy");
  }
  const before = kept.get(address + filters);
  if (before && before.fresh === fresh) {
    width = before.width;
    show(before.d);
  } else {
    place.style.setProperty("min-height", "16em");
    if (n < eager) figure.setAttribute("aria-busy", "true");
  }
  const begin = () => {
    let last = 0;
    draw();
    new ResizeObserver(() => { clearTimeout(last); last = setTimeout(draw, 150); }).observe(place);
  };
  if (n < eager || width) document.getElementById("view").addEventListener("shown", begin, { once: true });
  else {
    figure.addEventListener("near", () => { near.unobserve(figure); begin(); }, { once: true });
    near.observe(figure);
  }
  return figure;
}

// leave handles a click on a mark's link: it follows the link without loading a new page.
function leave(e, follow) {
  const a = e.target.closest("svg a[href]");
  if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
  e.preventDefault();
  const q = new URLSearchParams(a.getAttribute("href"));
  follow(q.get("case"), q.get("of"));
}
