// This script shows tips for marks in pictures, and lets the arrow keys move between marks. The pages
// of reports and the explorer use it.
"use strict";

(() => {
	const tip = document.createElement("div");
	tip.className = "tip";
	tip.setAttribute("role", "tooltip");
	tip.hidden = true;
	document.body.append(tip);
	const hide = () => { tip.hidden = true; };

	const show = mark => {
		// Each part of the label becomes a line. The comma within an interval doesn't split it.
		tip.textContent = mark.dataset.tip || mark.getAttribute("aria-label").replace(/, (?![^\[]*\])/g, "\n");
		tip.hidden = false;
		const at = mark.getBoundingClientRect(), own = tip.getBoundingClientRect(), room = document.documentElement.clientWidth;
		const left = Math.min(Math.max(at.left + at.width / 2 - own.width / 2, 8), room - own.width - 8);
		const top = at.top > own.height + 12 ? at.top - own.height - 6 : at.bottom + 6;
		tip.style.left = `${Math.max(left, 8) + scrollX}px`;
		tip.style.top = `${top + scrollY}px`;
	};
	const marked = event => event.target.closest?.("svg [data-tip]");
	for (const type of ["pointerover", "focusin", "click"])
		document.addEventListener(type, event => { marked(event) ? show(marked(event)) : hide(); });
	document.addEventListener("focusout", hide);
	document.addEventListener("shown", hide, true);
	addEventListener("resize", hide);

	// An element with data-keys, such as a picture, is one stop of the Tab key. The arrow keys move
	// between its marks and buttons.
	const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity};
	document.addEventListener("keydown", event => {
		if (event.key === "Escape") hide();
		const within = event.target.closest?.("[data-keys]");
		if (!within || !(event.key in step) || event.ctrlKey || event.metaKey || event.altKey) return;
		const stops = [...within.querySelectorAll("svg [data-tip], .tools button, .tools a")].filter(e => e.getClientRects().length);
		const now = stops.indexOf(event.target.closest("[data-tip], button, a"));
		if (now < 0) return;
		event.preventDefault();
		const next = stops[Math.min(Math.max(now + step[event.key], 0), stops.length - 1)];
		for (const e of stops) e.setAttribute("tabindex", e === next ? "0" : "-1");
		next.focus();
	});
})();

