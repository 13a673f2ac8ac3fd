r"""A table of a report for a LaTeX document: ``\input{tables/accuracy}`` in a ``table``."""

from collections.abc import Sequence

from fer_lightning.report.content import Cell, Table
from fer_lightning.report.parts import format_column, is_numeric, plain_rows

LONG = 40  # letters: columns of longer texts break their lines
SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # letters that pdfLaTeX prints as others or refuses
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "\N{MINUS SIGN}": "$-$",
    "\N{EN DASH}": "--",
    "\N{HORIZONTAL ELLIPSIS}": r"\dots{}",
    "±": r"$\pm$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "→": r"$\to$",
    "²": "$^2$",
    "\N{GREEK SMALL LETTER ALPHA}": r"$\alpha$",
    "\N{GREEK SMALL LETTER RHO}": r"$\rho$",
    "\N{GREEK SMALL LETTER SIGMA}": r"$\sigma$",
}


def latex(table: Table) -> str:
    r"""Write a table as a ``tabular`` in the manner of booktabs, with numbers as the page has them.

    Its caption and notes are comments: a document says these in its own words.

    Raises:
        UserError: a row that is not as long as the head.

    >>> print(latex(Table("t", "50 % right.", ("model_name", "acc"), (("a&b", 0.5), ("c", None)))))
    % 50 % right.
    % needs \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    model\_name & acc \\
    \midrule
    a\&b & 0.5 \\
    c & -- \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    rows = plain_rows(table)
    columns = [[row[place] for row in rows] for place in range(len(table.columns))]
    cells = zip(*map(format_column, columns), strict=True)
    lines = [
        *(f"% {_one_line(text)}" for text in (table.caption, *table.notes)),
        r"% needs \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{''.join(map(_alignment, columns))}}}",
        r"\toprule",
        _row(table.columns),
        r"\midrule",
        *map(_row, cells),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    r"""Write a text so that LaTeX prints it and runs nothing of it.

    >>> print(escape("50 % of $x_1 & {y}"))
    50 \% of \$x\_1 \& \{y\}
    """
    return "".join(SPECIAL.get(letter, letter) for letter in _one_line(text))


def _row(cells: Sequence[str]) -> str:
    text = " & ".join(map(escape, cells))
    # after the \\ of the row above, these would be its options
    return (f"{{{text[0]}}}{text[1:]}" if text.startswith(("[", "*")) else text) + r" \\"


def _alignment(column: Sequence[Cell]) -> str:
    if is_numeric(column):
        return "r"
    return "l" if max((len(str(cell)) for cell in column), default=0) <= LONG else "p{5cm}"


def _one_line(text: str) -> str:
    """Keep a text on one line, without letters that cannot be printed."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
