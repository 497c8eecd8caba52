// What a page can do beyond being read: copy its tables. Without it the page is whole.
"use strict";

(() => {
	// rowsOf returns the texts of a table, row by row.
	const rowsOf = table => [...table.rows].map(row => [...row.cells].map(cell => cell.innerText.replace(/\s+/g, " ").trim()));

	// csvField quotes a text. A spreadsheet must not take it for a formula.
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
		} catch { // not permitted, or not a page that may
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

	for (const table of document.querySelectorAll("table")) {
		const tools = document.createElement("p");
		tools.className = "tools";
		tools.append("copy as ",
			button("CSV", "Copy this table as CSV", () => copy(csv(rowsOf(table)))),
			button("Markdown", "Copy this table as Markdown", () => copy(markdown(rowsOf(table)))));
		table.closest(".scroll").after(tools);
	}
})();
