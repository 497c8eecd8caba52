// Pictures of a run that the server draws. Their marks show exact figures when they are
// pointed at, and lead to the samples behind them.

import { get } from "./api.js";
import { h, table } from "./dom.js";
import { count } from "./format.js";

const none = "none"; // in the address: no pictures

// chosenKinds returns the kinds of pictures that an address asks for.
export const chosenKinds = (list, query) => query.has("picture") ? query.getAll("picture") : list.kinds.filter((k) => k.usual).map((k) => k.name);

// kinds makes a group of check boxes for the kinds of pictures that there are.
export function kinds(list, chosen) {
  if (list.kinds.length === 0) return null;
  return h("fieldset", {}, h("legend", {}, "Pictures"), h("div", { class: "choices" },
    list.kinds.map((k) => h("label", {}, h("input", { type: "checkbox", name: "picture", value: k.name, "data-key": "picture-" + k.name, checked: chosen.includes(k.name) }), k.title))));
}

// picturesOf returns what a form says about pictures, as it is in an address: nothing if
// that is as usual.
export function picturesOf(list, form) {
  const chosen = form.getAll("picture");
  const usual = list.kinds.every((k) => chosen.includes(k.name) === Boolean(k.usual));
  if (usual) return [];
  return (chosen.length ? chosen : [none]).map((k) => ["picture", k]);
}

const eager = 6; // so many pictures of a page are drawn at once; others when they come near
const kept = new Map(); // the last answers, so that a view which is made again does not jump
const mostKept = 40;

const near = new IntersectionObserver((entries) => {
  for (const e of entries) if (e.isIntersecting) e.target.dispatchEvent(new Event("near"));
}, { rootMargin: "800px" });

// chart makes a picture. address is its path in the API, n its place in the page, fresh
// changes when the run does.
export function chart(c, { address, filters, fresh, n, signal, follow }) {
  const place = h("div", { class: "drawn" });
  const behind = h("details", {}, h("summary", {}, "Figures"));
  const save = (kind) => h("a", { href: `/api/v1/${address}.${kind}?${filters}`, download: `${c.name}.${kind}`, "aria-label": `Save as ${kind.toUpperCase()}: ${c.title}` }, kind.toUpperCase());
  const figure = h("figure", { class: "picture", "data-name": c.name, "data-kind": c.kind, click: (e) => leave(e, follow) }, place,
    c.note && h("figcaption", {}, c.note),
    h("p", { class: "tools" }, "Save as", save("svg"), save("png")), behind);
  let width = 0, asked = 0;

  function show(d) {
    // Markup, not text: the server escapes what is in it, and the policy of the page allows no script.
    place.replaceChildren(new DOMParser().parseFromString(d.svg, "text/html").body.firstElementChild);
    behind.replaceChildren(behind.firstElementChild, table(`Figures of ${c.title}`, d.columns.map((title, i) => ({ title: title || "name", cell: (row) => row[i] })), d.rows),
      d.more ? h("p", {}, `${count(d.more)} more are in the JSON report.`) : "");
    place.style.removeProperty("min-height");
  }
  async function draw() {
    const room = Math.round(Math.max(280, Math.min(place.clientWidth, 960)));
    if (!place.isConnected || Math.abs(room - width) < 24) return; // as wide, but for a scroll bar
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

// leave follows the link of a mark within the page.
function leave(e, follow) {
  const a = e.target.closest("svg a[href]");
  if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
  e.preventDefault();
  const q = new URLSearchParams(a.getAttribute("href"));
  follow(q.get("case"), q.get("of"));
}
