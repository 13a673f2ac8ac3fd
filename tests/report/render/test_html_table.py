import re

import numpy as np
import pytest

from fer_lightning.errors import UserError
from fer_lightning.report.content import Report, Section, Table
from fer_lightning.report.parts import GAP, MINUS, format_column, is_numeric, value_of
from fer_lightning.report.render.html import model_names, render


def page_of(*tables):
    return render(Report("", "", (Section("s", "S", tables),)))


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ([-0.1, 0.73456], [f"{MINUS}0.100", "0.735"]),
        ([0.00002, 0.5, 0.0], [f"2.0e{MINUS}5", "0.500", "0.000"]),
        ([0.99969, 0.5], ["0.99969", "0.50000"]),
        ([67.416, 5.0], ["67.42", "5.00"]),
        ([1234.56, 1.0], ["1235", "1"]),
        ([73.2, 68.5], ["73.2", "68.5"]),
        ([123456.7], ["123,457"]),
        ([3, None, float("nan"), ""], ["3", GAP, GAP, GAP]),
        ([float("inf"), float("-inf")], ["∞", f"{MINUS}∞"]),
        ([2000, 10000, -28709], ["2000", "10,000", f"{MINUS}28,709"]),
        ([True, "a - b"], ["yes", "a - b"]),
    ],
)
def test_numbers_of_a_column_are_written_alike(column, texts):
    assert format_column(column) == texts


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("30 %", 30), ("1.556 ± 0.495", 1.556), ("[-0.2, 0.3]", -0.2), ("87.0 / 27.5 %", 87),
        (f"{MINUS}1.5 [{MINUS}3.0, 0.2]", -1.5), ("< 0.0001", 0.0001), ("1,278,631", 1278631),
        ("2 to 5", 2), ("1e-5", 1e-5), ("3fa94c01", None), ("2024-05-01", None), ("cnn", None),
        ("30 epochs of 40", None), ("", None), (None, None), (float("nan"), None),
    ],
)  # fmt: skip
def test_what_a_cell_is_sorted_by(cell, value):
    assert value_of(cell) == value


def test_a_column_with_a_word_is_no_column_of_numbers():
    assert is_numeric(["1 ± 2", 3.0, None])
    assert not is_numeric(["n/a", 3.0])


def test_numbers_keep_their_whole_value_beside_the_rounded_one():
    table = Table(
        "a", "A.", ("m", "x", "n"), (("cnn", np.float32(0.5), np.int64(7)), ("b", None, 8))
    )
    text = page_of(table)
    assert '<th scope="row" class="k">cnn</th><td class="n" data-v="0.5">0.5</td>' in text
    assert '<td class="n" data-v="7">7</td>' in text
    assert f'<td class="n gap">{GAP}</td>' in text


def test_long_texts_get_room_and_long_tables_a_box():
    words = ("swin", "x" * 30, "x" * 100, "x" * 200)
    text = page_of(Table("a", "A.", tuple("abcd"), (words,) * 16))
    assert re.findall(r'<th scope="col" class="(\w)">', text) == ["k", "w", "s", "p"]
    assert '<figure class="table long"' in text


def test_an_uneven_row_is_refused():
    with pytest.raises(UserError, match="expected 2 cells in each row of table 'a' but got 1"):
        page_of(Table("a", "A.", ("m", "x"), (("cnn",),)))


def test_a_table_without_rows_says_so():
    assert "No rows." in page_of(Table("a", "A.", ("m", "x"), ()))


def test_rows_know_their_models():
    rows = (("cnn", 1), ("vit - cnn", 2), ("VIT (paper)", 3), ("mean", 4))
    table = Table("a", "A.", ("pair", "x"), rows)
    text = page_of(Table("b", "B.", ("model",), (("cnn",), ("vit",))), table)
    assert re.findall(r"<tr( data-models=\"[\d ]+\")?><th scope=.row", text) == [
        ' data-models="0"', ' data-models="1"',  # the table that names them
        ' data-models="0"', ' data-models="0 1"', ' data-models="1"', "",
    ]  # fmt: skip


def test_one_model_needs_no_filter():
    table = Table("a", "A.", ("Model", "x"), (("cnn", 1), ("cnn", 2), (None, 3)))
    assert model_names(Report("", "", (Section("s", "S", (table,)),))) == ()
