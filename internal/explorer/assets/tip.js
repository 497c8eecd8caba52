// A tip explains a mark of a picture when the reader points at it, touches it or reaches it with the
// keyboard.

import { h } from "./dom.js";

const tip = h("div", { class: "tip", role: "tooltip", hidden: true });
document.body.append(tip);

function show(mark) {
  // Each part of the label becomes a line. The comma within an interval doesn't split it.
  tip.textContent = mark.dataset.tip || mark.getAttribute("aria-label").replace(/, (?![^\[]*\])/g, "\n");
  tip.hidden = false;
  const at = mark.getBoundingClientRect(), own = tip.getBoundingClientRect(), room = document.documentElement.clientWidth;
  const left = Math.min(Math.max(at.left + at.width / 2 - own.width / 2, 8), room - own.width - 8);
  const top = at.top > own.height + 12 ? at.top - own.height - 6 : at.bottom + 6;
  tip.style.left = `${Math.max(left, 8) + scrollX}px`;
  tip.style.top = `${top + scrollY}px`;
}

const marked = (e) => e.target.closest && e.target.closest("svg [data-tip]");
for (const type of ["pointerover", "focusin", "click"])
  document.addEventListener(type, (e) => { const mark = marked(e); if (mark) show(mark); else tip.hidden = true; });
addEventListener("resize", () => { tip.hidden = true; });
document.addEventListener("focusout", () => { tip.hidden = true; });
document.addEventListener("keydown", (e) => { if (e.key === "Escape") tip.hidden = true; });
document.getElementById("view").addEventListener("shown", () => { tip.hidden = true; });
