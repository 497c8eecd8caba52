// What the views are built with. Text that comes from a store becomes a text node, never
// markup. Only pictures are markup, which the server has made: charts.js.

// h makes an element. Attributes that are functions are listeners, false or null ones are
// left out. Children are nodes, texts, or lists of them.
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

// table makes a table from columns ({title, name, right, className, cell}) and rows. On a phone
// the rows of one with cards are below each other, each cell with the name of its column.
export function table(caption, columns, rows, row, cards) {
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, h("table", { class: cards ? "cards" : null },
    h("caption", {}, h("span", {}, caption)),
    h("thead", {}, h("tr", {}, columns.map((c) => c.title === "" ? h("td") : h("th", { scope: "col", class: c.right ? "n" : c.className === "library" ? "library" : null, "aria-sort": c.sorted }, c.title)))),
    h("tbody", {}, rows.map((r) => h("tr", row ? row(r) : {}, columns.map((c) => h("td", { "data-name": cards ? c.name ?? c.title : null, class: [c.right && "n", c.className].filter(Boolean).join(" ") || null }, c.cell(r))))))));
}

// folded makes a fold whose content is made when it is opened: much of it would take long.
export function folded(title, make) {
  const fold = h("details", { toggle: () => { if (fold.open && fold.children.length === 1) fold.append(...[make()].flat(Infinity)); } }, h("summary", {}, title));
  return fold;
}

// set sets custom properties, which a policy without inline style allows.
export function set(e, properties) {
  for (const [name, value] of Object.entries(properties)) e.style.setProperty(name, value);
  return e;
}

// facts makes a list of names and values. It leaves out what is not known.
export function facts(list) {
  return h("dl", { class: "facts" }, list.filter(([, v]) => v !== "" && v !== null && v !== undefined && v !== false)
    .map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
}

// caveats makes a list of what to beware of: the first few, and the rest in a fold.
export function caveats(list, most = 4) {
  const items = (l) => h("ul", { class: "caveats" }, l.map((c) => h("li", { class: "warn" }, c.text)));
  if (list.length <= most + 1) return list.length ? items(list) : null;
  return [items(list.slice(0, most)), h("details", {}, h("summary", { class: "warn" }, `${list.length - most} more to beware of`), items(list.slice(most)))];
}

// choices makes a group of check boxes. chosen is empty if all are.
export function choices(name, legend, values, chosen) {
  if (values.length < 2) return null;
  return h("fieldset", {}, h("legend", {}, legend), h("div", { class: "choices" },
    values.map((v) => h("label", {}, h("input", { type: "checkbox", name, value: v, checked: chosen.includes(v) }), v || "(none)"))));
}

// select makes a labeled list of which one is chosen.
export function select(name, label, options, chosen) {
  return h("label", {}, label, h("select", { name }, options.map(([value, text]) => h("option", { value, selected: value === chosen }, text))));
}

export function input(name, label, value, attributes) {
  return h("label", {}, label, h("input", { name, value, ...attributes }));
}
