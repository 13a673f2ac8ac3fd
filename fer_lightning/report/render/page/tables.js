// Tables: sort by a column, keep the rows with a word, copy what is shown as CSV or LaTeX.
{
  const LATEX = {
    "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "$": "\\$", "&": "\\&", "#": "\\#", "%": "\\%",
    "_": "\\_", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "−": "$-$", "±": "$\\pm$",
    "≥": "$\\geq$", "≤": "$\\leq$", "<": "$<$", ">": "$>$", "×": "$\\times$", "–": "--", "…": "\\dots{}",
    "∞": "$\\infty$", "α": "$\\alpha$", "Δ": "$\\Delta$", "→": "$\\to$", "≈": "$\\approx$", "°": "$^\\circ$",
  };
  const latexText = (text) => [...text].map((letter) => LATEX[letter] ?? letter).join("");
  const text = (cell) => cell.textContent.trim();
  const shownRows = (table) =>
    [...table.tBodies[0].rows].filter((row) => !row.matches(".no-text, .no-model"));

  const csv = (table) => {
    const quoted = (value) => /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
    const raw = (cell) => cell.dataset.v ?? (cell.classList.contains("gap") ? "" : text(cell));
    const head = [...table.tHead.rows[0].cells].map(text);
    const body = shownRows(table).map((row) => [...row.cells].map(raw));
    return [head, ...body].map((line) => line.map(quoted).join(",")).join("\n") + "\n";
  };

  const latex = (table, id, caption) => {
    const head = [...table.tHead.rows[0].cells];
    const line = (cells) => `    ${cells.map((cell) => latexText(text(cell))).join(" & ")} \\\\`;
    const columns = head.map((cell) => cell.classList.contains("n") ? "r" : "l").join("");
    return [
      "% \\usepackage{booktabs}", "\\begin{table}", "  \\centering", `  \\caption{${latexText(caption)}}`,
      `  \\label{tab:${id}}`, `  \\begin{tabular}{${columns}}`, "    \\toprule", line(head), "    \\midrule",
      ...shownRows(table).map((row) => line([...row.cells])), "    \\bottomrule", "  \\end{tabular}",
      "\\end{table}", "",
    ].join("\n");
  };

  const copy = async (content, what) => {
    try {
      await navigator.clipboard.writeText(content);
    } catch { // older browsers, and files where the clipboard is not allowed
      const area = make("textarea", { value: content });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say(`Copied ${what}`);
  };

  const order = (cell) => cell.dataset.v ?? cell.dataset.s;
  const compare = (a, b, sign) => {
    const gaps = a.classList.contains("gap") - b.classList.contains("gap");
    if (gaps) return gaps; // gaps come last, whichever way the rest is sorted
    if (order(a) !== undefined && order(b) !== undefined) return sign * (order(a) - order(b));
    return sign * text(a).localeCompare(text(b), "en", { numeric: true });
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const next = { none: "ascending", ascending: "descending", descending: "none" }[before];
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        const rows = next === "none" ? original
          : original.toSorted((a, b) => compare(a.cells[column], b.cells[column], sign));
        body.append(...rows);
      });
    });
  };

  for (const figure of document.querySelectorAll("figure.table")) {
    const table = figure.querySelector("table");
    const box = figure.querySelector(".box");
    const caption = figure.querySelector("figcaption");
    const words = caption.textContent.replace(/^Table \d+\.\s*/, "");
    const name = caption.querySelector("b").textContent.replace(".", "");
    const rows = [...table.tBodies[0].rows];
    const tools = make("div", { className: "tools" });
    const count = make("output");
    const recount = () => {
      const shown = shownRows(table).length;
      count.textContent = shown < rows.length ? `${shown} of ${rows.length} rows` : "";
    };
    if (rows.length > 3) {
      const input = make("input", { type: "search", placeholder: "Filter rows" });
      input.setAttribute("aria-label", `Filter rows of ${name}`);
      input.addEventListener("input", () => {
        const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
        for (const row of rows) {
          const content = [...row.cells].map(text).join(" ").toLowerCase();
          row.classList.toggle("no-text", !wanted.every((word) => content.includes(word)));
        }
        recount();
      });
      tools.append(input);
    }
    for (const [label, write] of [["CSV", csv], ["LaTeX", latex]]) {
      const button = make("button", { type: "button", textContent: `Copy ${label}` });
      button.setAttribute("aria-label", `Copy ${name} as ${label}`);
      button.addEventListener("click", () => copy(write(table, figure.id, words), `${name} as ${label}`));
      tools.append(button);
    }
    if (figure.classList.contains("long")) {
      const button = make("button", { type: "button", textContent: `Show all ${rows.length} rows` });
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => {
        const all = figure.classList.toggle("all");
        button.setAttribute("aria-expanded", all);
        button.textContent = all ? "Show fewer rows" : `Show all ${rows.length} rows`;
      });
      tools.append(button);
    }
    tools.append(count);
    box.before(tools);
    document.addEventListener("models", recount);
    if (rows.length > 1) sortable(table);
    const fits = () => { // a box that scrolls must be reachable by keyboard, and look as if it went on
      const beyond = box.scrollWidth - box.clientWidth;
      if (beyond > 0 || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
      box.classList.toggle("more", beyond - box.scrollLeft > 2);
    };
    new ResizeObserver(fits).observe(box);
    box.addEventListener("scroll", fits, { passive: true });
  }
}
