"""Tables for LaTeX: the whole file by hand, every letter with a meaning, and hostile cells."""

import numpy as np
import pytest

from fer_lightning.errors import UserError
from fer_lightning.report.content import Report, Section, Table
from fer_lightning.report.render.html import table_view
from fer_lightning.report.render.latex import escape, latex
from fer_lightning.report.write import write_parts

WORDS = "a sentence that is longer than forty letters"
TABLE = Table(
    "focus",
    "Focus of\n50 % of the runs.",
    ("model", "LFR & more", "SD_1", "note"),
    (
        ("cnn", np.float64(1.2346), None, WORDS),
        ("[vit]", -0.5, 1_278_631, "p < 0.005"),
        ("*swin", 2.0, 7, None),
    ),
    ("Left out: 3 %.\n\\input{secrets}",),
)
BY_HAND = r"""% Focus of 50 % of the runs.
% Left out: 3 %. \input{secrets}
% needs \usepackage{booktabs}
\begin{tabular}{lrrp{5cm}}
\toprule
model & LFR \& more & SD\_1 & note \\
\midrule
cnn & 1.235 & -- & a sentence that is longer than forty letters \\
{[}vit] & $-$0.500 & 1,278,631 & p $<$ 0.005 \\
{*}swin & 2.000 & 7 & -- \\
\bottomrule
\end{tabular}
"""


def test_a_table_is_what_was_written_by_hand():
    assert latex(TABLE) == BY_HAND


def test_numbers_are_those_of_the_page():
    page = [[text for text, _ in cells] for _, cells in table_view(TABLE, ())["rows"]]
    lines = latex(TABLE).splitlines()[7:10]
    assert [line.removesuffix(r" \\").split(" & ")[1:3] for line in lines] == [
        [escape(text) for text in row[1:3]] for row in page
    ]


@pytest.mark.parametrize(
    ("letter", "written"),
    [
        ("_", r"\_"),
        ("%", r"\%"),
        ("&", r"\&"),
        ("#", r"\#"),
        ("$", r"\$"),
        ("{", r"\{"),
        ("}", r"\}"),
        ("~", r"\textasciitilde{}"),
        ("^", r"\textasciicircum{}"),
        ("\\", r"\textbackslash{}"),
        ("≥", r"$\geq$"),
        ("\n", " "),
        ("\x00", "?"),
    ],
)
def test_letters_with_a_meaning_are_escaped(letter, written):
    assert escape(f"a{letter}b") == f"a{written}b"
    row = latex(Table("t", "", (f"a{letter}b",), ((f"c{letter}d",),))).splitlines()
    assert f"a{written}b \\\\" in row
    assert f"c{written}d \\\\" in row


def test_a_command_in_a_cell_is_words():
    assert escape(r"\input{/etc/passwd}") == r"\textbackslash{}input\{/etc/passwd\}"


def test_a_caption_cannot_leave_its_comment():
    table = Table("t", "one\n\\end{document}\r\u2028two", ("a",), ())
    assert latex(table).splitlines()[0] == r"% one \end{document} two"


def test_an_uneven_row_is_refused():
    with pytest.raises(UserError, match="expected 2 cells in each row of table 't' but got 1"):
        latex(Table("t", "", ("a", "b"), ((1,),)))


def test_it_lies_beside_the_numbers(tmp_path):
    written = write_parts(Report("T", "s", (Section("s", "S", (TABLE,)),)), tmp_path)
    assert {tmp_path / "tables/focus.csv", tmp_path / "tables/focus.tex"} <= {*written}
    assert (tmp_path / "tables/focus.tex").read_text() == BY_HAND
    assert "[LaTeX](tables/focus.tex)" in (tmp_path / "report.md").read_text()
