// This script shows tips for marks in pictures, saves pictures and copies tables. A page can be
// read completely without it.
"use strict";

(() => {
	// rowsOf returns the texts of a table, row by row.
	const rowsOf = table => [...table.rows].map(row => [...row.cells].map(cell => cell.innerText.replace(/\s+/g, " ").trim()));

	// csvField quotes a text for CSV, so that a spreadsheet doesn't take the text for a formula.
	const csvField = text => {
		if (/^[=+\-@]/.test(text) && isNaN(text)) text = "'" + text;
		return /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
	};
	const csv = rows => rows.map(row => row.map(csvField).join(",")).join("\n") + "\n";

	const markdown = rows => {
		const line = row => "| " + row.map(text => text.replace(/[\\`*_<>\[\]|~&]/g, "\\$&")).join(" | ") + " |\n";
		return line(rows[0]) + line(rows[0].map(() => "---")) + rows.slice(1).map(line).join("");
	};

	const copy = async text => {
		try {
			await navigator.clipboard.writeText(text);
		} catch { // the browser denies this page access to the clipboard
			const area = document.createElement("textarea");
			area.value = text;
			document.body.append(area);
			area.select();
			document.execCommand("copy");
			area.remove();
		}
	};

	const button = (words, what, act) => {
		const b = document.createElement("button");
		b.type = "button";
		b.textContent = words;
		b.setAttribute("aria-label", what);
		b.addEventListener("click", async () => {
			await act();
			b.textContent = "done";
			setTimeout(() => { b.textContent = words; }, 1500);
		});
		return b;
	};

	// row returns a paragraph with words and small buttons after them.
	const row = (words, ...buttons) => {
		const p = document.createElement("p");
		p.className = "tools";
		p.append(words, ...buttons);
		return p;
	};

	for (const table of document.querySelectorAll("table")) {
		table.closest(".scroll").after(row("Copy as",
			button("CSV", "Copy this table as CSV", () => copy(csv(rowsOf(table)))),
			button("Markdown", "Copy this table as Markdown", () => copy(markdown(rowsOf(table))))));
	}

	// Only boxes that scroll can be focused with the keyboard.
	const boxes = new ResizeObserver(entries => {
		for (const {target} of entries) {
			if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
			else target.removeAttribute("tabindex");
		}
	});
	for (const box of document.querySelectorAll(".scroll")) boxes.observe(box);

	// picture returns the picture of a figure as a separate file, with its title above it. It copies
	// the current colors into the picture, because a file has no styles of the page.
	const picture = figure => {
		const shown = [...figure.querySelectorAll("svg")].find(svg => svg.getClientRects().length);
		const file = shown.cloneNode(true);
		const from = shown.querySelectorAll("*"), to = file.querySelectorAll("*");
		const names = ["fill", "stroke", "stop-color", "font-size", "font-weight", "text-anchor", "opacity"];
		from.forEach((element, i) => {
			const style = getComputedStyle(element);
			for (const name of names) to[i].setAttribute(name, style.getPropertyValue(name));
			for (const name of ["tabindex", "data-tip", "href"]) to[i].removeAttribute(name);
		});
		const {width, height} = shown.viewBox.baseVal;
		const above = 40, svg = "http://www.w3.org/2000/svg", style = getComputedStyle(document.documentElement);
		const ground = document.createElementNS(svg, "rect"), title = document.createElementNS(svg, "text");
		for (const [name, value] of Object.entries({x: 0, y: -above, width, height: height + above, fill: style.backgroundColor}))
			ground.setAttribute(name, value);
		for (const [name, value] of Object.entries({x: 8, y: 24 - above, fill: style.color, "font-size": 15, "font-weight": 600}))
			title.setAttribute(name, value);
		title.textContent = figure.dataset.title;
		file.prepend(ground, title);
		file.setAttribute("xmlns", svg);
		file.setAttribute("font-family", getComputedStyle(shown).fontFamily);
		file.setAttribute("viewBox", `0 ${-above} ${width} ${height + above}`);
		file.setAttribute("width", width);
		file.setAttribute("height", height + above);
		return {text: new XMLSerializer().serializeToString(file), width, height: height + above};
	};

	const save = (blob, name) => {
		const a = document.createElement("a");
		a.href = URL.createObjectURL(blob);
		a.download = name;
		a.click();
		setTimeout(() => URL.revokeObjectURL(a.href), 10000);
	};

	const saveSVG = figure => save(new Blob([picture(figure).text], {type: "image/svg+xml"}), figure.dataset.name + ".svg");

	const savePNG = async figure => {
		const {text, width, height} = picture(figure);
		const image = new Image();
		image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
		await image.decode();
		const canvas = document.createElement("canvas");
		canvas.width = 2 * width;
		canvas.height = 2 * height;
		canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
		save(await new Promise(done => canvas.toBlob(done, "image/png")), figure.dataset.name + ".png");
	};

	for (const figure of document.querySelectorAll("figure")) {
		const about = ": " + figure.dataset.title;
		figure.querySelector("details").before(row("Save as",
			button("SVG", "Save as SVG" + about, () => saveSVG(figure)),
			button("PNG", "Save as PNG" + about, () => savePNG(figure))));
	}

	// A tip explains a mark of a picture when the reader points at it, touches it or reaches it with
	// the keyboard.
	const tip = document.createElement("div");
	tip.className = "tip";
	tip.setAttribute("role", "tooltip");
	tip.hidden = true;
	document.body.append(tip);

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
	const marked = event => event.target.closest?.("[data-tip]");
	for (const type of ["pointerover", "focusin", "click"])
		document.addEventListener(type, event => { marked(event) ? show(marked(event)) : tip.hidden = true; });
	document.addEventListener("focusout", () => { tip.hidden = true; });
	document.addEventListener("keydown", event => { if (event.key === "Escape") tip.hidden = true; });

	// A link into closed details opens them, for browsers that do not do so themselves.
	const open = () => {
		const target = document.getElementById(location.hash.slice(1)); // our identifiers contain no escaped characters
		if (!target) return;
		let closed = false;
		for (let d = target.closest("details"); d; d = d.parentElement.closest("details")) {
			closed ||= !d.open;
			d.open = true;
		}
		if (closed) target.scrollIntoView();
	};
	addEventListener("hashchange", open);
	open();
})();
