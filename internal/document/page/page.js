// This script saves pictures, copies tables and opens details. A page can be read completely without
// it.

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
		p.dataset.keys = ""; // marks.js: the arrow keys move between the buttons
		buttons.slice(1).forEach(b => { b.tabIndex = -1; });
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

	// picture returns the picture of a figure as a separate file, with its title above it, and its
	// legend and its source below it. It copies the current colors into the picture, because a file has
	// no styles of the page.
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
		const lines = [...(figure.dataset.legend || "").split("\n"), figure.dataset.source].filter(Boolean);
		const above = 40, below = lines.length && 15 * lines.length + 9, svg = "http://www.w3.org/2000/svg", style = getComputedStyle(document.documentElement);
		const all = height + above + below;
		const add = (name, values, text = "") => {
			const element = document.createElementNS(svg, name);
			for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
			element.textContent = text;
			return element;
		};
		file.prepend(add("rect", {x: 0, y: -above, width, height: all, fill: style.backgroundColor}),
			add("text", {x: 8, y: 24 - above, fill: style.color, "font-size": 15, "font-weight": 600}, figure.dataset.title),
			...lines.map((line, i) => add("text", {x: 8, y: height + 12 + 15 * i, fill: style.color, "font-size": 11,
				...(line.length * 5.5 > width - 16 && {textLength: width - 16, lengthAdjust: "spacingAndGlyphs"})}, line)));
		file.setAttribute("xmlns", svg);
		file.setAttribute("font-family", getComputedStyle(shown).fontFamily);
		file.setAttribute("viewBox", `0 ${-above} ${width} ${all}`);
		file.setAttribute("width", width);
		file.setAttribute("height", all);
		return {text: new XMLSerializer().serializeToString(file), width, height: all};
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
		const drawn = figure.querySelector(".drawn"), saves = row("Save as",
			button("SVG", "Save as SVG" + about, () => saveSVG(figure)),
			button("PNG", "Save as PNG" + about, () => savePNG(figure)));
		// The arrow keys also move from the last mark to the buttons, so that a picture is one tab stop.
		delete saves.dataset.keys;
		if (drawn.querySelector("[data-tip]")) saves.querySelector("button").tabIndex = -1;
		drawn.append(saves);
	}

	// A link moves to its target: it opens the details around the target and focuses it.
	const open = () => {
		const target = document.getElementById(location.hash.slice(1)); // our identifiers contain no escaped characters
		if (!target) return;
		for (let d = target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
		if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
		target.focus({preventScroll: true});
		target.scrollIntoView();
	};
	addEventListener("hashchange", open);
	document.addEventListener("click", event => {
		// A link to the current address changes no hash, but its target may have been closed since.
		if (event.target.closest?.("a[href^='#']")?.getAttribute("href") === location.hash) open();
	});
	open();

	// Details are opened for printing. The style sheet does that too, but not in every browser.
	const opened = [];
	addEventListener("beforeprint", () => {
		for (const d of document.querySelectorAll("main details:not([open], .nest)")) {
			if (d.closest(".nest")) continue;
			d.open = true;
			opened.push(d);
		}
	});
	addEventListener("afterprint", () => {
		for (const d of opened.splice(0)) d.open = false;
	});
})();
