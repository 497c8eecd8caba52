// Functions that build elements for the views. Text from a store becomes a text node, never
// markup. Only pictures are markup, made by the server: see charts.js.

// h makes an element. An attribute whose value is a function becomes an event listener. Attributes
// that are false or null are left out. Children are nodes, texts, or lists of nodes and texts.
export function h(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") e.addEventListener(name, value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) e.setAttribute(name, value);
  }
  e.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

// harmful reports whether a case, a cell or a point of a trend has a known defect that can lose or falsify
// data. harmMark returns the mark of such a driver.
export const harmful = (c) => (c.harmful_defects || []).length > 0;
export const harmMark = (c) => harmful(c) && h("span", { class: "warn", title: `known to lose or falsify data: ${c.harmful_defects.join(", ")}` }, "!");

// rove makes the links, buttons and check boxes of an element one stop of the Tab key. The arrow keys
// move between them; in a table, up and down move to the same place of another row.
export function rove(e) {
  const stops = (within) => [...within.querySelectorAll("a[href], button, input[type=checkbox]")];
  const choose = (one) => stops(e).forEach((x) => x.setAttribute("tabindex", x === one ? "0" : "-1"));
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  if (stops(e).length > 0) choose(stops(e)[0]);
  e.addEventListener("focusin", ({ target }) => { if (stops(e).includes(target)) choose(target); });
  e.addEventListener("keydown", (event) => {
    const all = stops(e), step = steps[event.key], at = all.indexOf(event.target);
    if (!step || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    let next = all[at + step];
    let row = event.target.closest("tr");
    if (row && /Up|Down/.test(event.key)) {
      const place = stops(row).indexOf(event.target);
      do row = step > 0 ? row.nextElementSibling : row.previousElementSibling; while (row && stops(row).length === 0);
      next = row && stops(row)[Math.min(place, stops(row).length - 1)];
    }
    if (next) next.focus();
  });
  return e;
}

// Only boxes that scroll and have no stop of the Tab key in them can be focused with the keyboard.
const boxes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth && !target.querySelector("[tabindex='0'], a[href]:not([tabindex]), button:not([tabindex])")) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

// table makes a table from columns ({title, name, right, className, cell}) and rows. If cards is set,
// a phone shows the cells of a row below each other, each with the name of its column.
export function table(caption, columns, rows, row, cards) {
  const box = h("div", { class: "scroll", role: "group", "aria-label": caption }, h("table", { class: cards ? "cards" : null },
    h("caption", {}, h("span", {}, caption)),
    h("thead", {}, h("tr", {}, columns.map((c) => c.title === "" ? h("td") : h("th", { scope: "col", class: c.right ? "n" : c.className === "library" ? "library" : null, "aria-sort": c.sorted }, c.title)))),
    rove(h("tbody", {}, rows.map((r) => h("tr", row ? row(r) : {}, columns.map((c) => h("td", { "data-name": cards ? c.name ?? c.title : null, class: [c.right && "n", c.className].filter(Boolean).join(" ") || null }, c.cell(r)))))))));
  boxes.observe(box);
  return box;
}

// folded makes a details element whose content is built only when the reader opens it, because
// building much content takes long.
export function folded(title, make) {
  const fold = h("details", { toggle: () => { if (fold.open && fold.children.length === 1) fold.append(...[make()].flat(Infinity)); } }, h("summary", {}, title));
  return fold;
}

// set sets custom CSS properties of an element. The page's policy allows this, but no style
// attributes.
export function set(e, properties) {
  for (const [name, value] of Object.entries(properties)) e.style.setProperty(name, value);
  return e;
}

// facts makes a list of pairs of a name and a value. It leaves out pairs whose value is not known.
export function facts(list) {
  return h("dl", { class: "facts" }, list.filter(([, v]) => v !== "" && v !== null && v !== undefined && v !== false)
    .map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
}

// caveats makes a list of warnings. It shows the first few warnings, and the others in closed
// details.
export function caveats(list, most = 4) {
  const items = (l) => h("ul", { class: "caveats" }, l.map((c) => h("li", { class: c.mild ? "quiet" : "warn" }, h("b", {}, c.name), ": ", c.text)));
  if (list.length <= most + 1) return list.length ? items(list) : null;
  return [items(list.slice(0, most)), h("details", {}, h("summary", { class: "warn" }, `${list.length - most} more warnings`), items(list.slice(most)))];
}

// choices makes a group of check boxes, one for each value. If the list in chosen is empty, all
// values are chosen.
export function choices(name, legend, values, chosen) {
  if (values.length < 2) return null;
  return h("fieldset", {}, h("legend", {}, legend), rove(h("div", { class: "choices" },
    values.map((v) => h("label", {}, h("input", { type: "checkbox", name, value: v, "data-key": `${name}-${v}`, checked: chosen.includes(v) }), v || "(none)")))));
}

// select makes a labeled list of options, from which the user chooses one.
export function select(name, label, options, chosen) {
  return h("label", {}, label, h("select", { name }, options.map(([value, text]) => h("option", { value, selected: value === chosen }, text))));
}

export function input(name, label, value, attributes) {
  return h("label", {}, label, h("input", { name, value, ...attributes }));
}
