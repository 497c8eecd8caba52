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

// table makes a table from columns ({title, name, right, className, cell}) and rows. If cards is set,
// a phone shows the cells of a row below each other, each with the name of its column.
export function table(caption, columns, rows, row, cards) {
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, h("table", { class: cards ? "cards" : null },
    h("caption", {}, h("span", {}, caption)),
    h("thead", {}, h("tr", {}, columns.map((c) => c.title === "" ? h("td") : h("th", { scope: "col", class: c.right ? "n" : c.className === "library" ? "library" : null, "aria-sort": c.sorted }, c.title)))),
    h("tbody", {}, rows.map((r) => h("tr", row ? row(r) : {}, columns.map((c) => h("td", { "data-name": cards ? c.name ?? c.title : null, class: [c.right && "n", c.className].filter(Boolean).join(" ") || null }, c.cell(r))))))));
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

// choices makes a group of check boxes, one for each value. An empty list chosen means all values.
export function choices(name, legend, values, chosen) {
  if (values.length < 2) return null;
  return h("fieldset", {}, h("legend", {}, legend), h("div", { class: "choices" },
    values.map((v) => h("label", {}, h("input", { type: "checkbox", name, value: v, checked: chosen.includes(v) }), v || "(none)"))));
}

// select makes a labeled list of options, from which the user chooses one.
export function select(name, label, options, chosen) {
  return h("label", {}, label, h("select", { name }, options.map(([value, text]) => h("option", { value, selected: value === chosen }, text))));
}

export function input(name, label, value, attributes) {
  return h("label", {}, label, h("input", { name, value, ...attributes }));
}
