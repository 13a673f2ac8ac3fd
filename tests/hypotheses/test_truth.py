"""The table of methods against known truth: who passed, and what is refused."""

import pytest

from fer_lightning.errors import UserError
from fer_lightning.hypotheses.truth import COLUMNS, read_truth, shipped_truth

HEAD = ",".join(COLUMNS)
GOOD = "FER-2013,cnn,occlusion,auc,1,0.99,0.97,1.0,0.95,0.6,200,1"


def table(tmp_path, *lines, head=HEAD):
    path = tmp_path / "truth.csv"
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def test_every_seed_and_data_set_must_pass(tmp_path):
    again = GOOD.replace(",auc,1,", ",auc,2,")
    drawn = "drawn faces,cnn,occlusion,auc,1,0.95,0.88,1.0,0.95,,200,0"
    asked = ("cnn", "occlusion", "auc")
    assert read_truth(table(tmp_path, GOOD, again)).passed(*asked) is True
    assert read_truth(table(tmp_path, GOOD)).passed(*asked) is False  # one seed
    found = read_truth(table(tmp_path, GOOD, again, drawn))
    assert found.passed(*asked) is False
    assert found.data(["cnn", "vit"], "occlusion", "auc") == ["FER-2013", "drawn faces"]
    assert found.passed("vit", "occlusion", "auc") is None
    assert found.passed("cnn", "occlusion", "lfr") is None


def test_the_shipped_table_can_be_read():
    assert all(row.method for row in shipped_truth().rows)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (GOOD.replace("0.97", "0.85"), "passed to follow the rule"),
        (GOOD.replace("0.95", "0.7"), "passed to follow the rule"),
        (GOOD[:-1] + "0", "passed to follow the rule"),
        (GOOD.replace("0.99", "1.7"), "auc from 0 to 1"),
        (GOOD.replace("0.99", "nan"), "auc from 0 to 1"),
        (GOOD.replace("0.99", "0.9"), "auc_low <= auc <= auc_high"),
        (GOOD.replace(",1,0.99", ",one,0.99"), "seed from 0"),
        (GOOD.replace(",1,0.99", ",1.5,0.99"), "whole number as seed"),
        (GOOD.replace("occlusion", ""), "a method in line 2"),
        (GOOD.replace(",200,1", ""), "n from 0"),
        (f"{GOOD}\n{GOOD}", "several for FER-2013, cnn, occlusion, auc, 1"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, line, told):
    with pytest.raises(UserError, match=told):
        read_truth(table(tmp_path, line))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(UserError, match="no auc_low"):
        read_truth(table(tmp_path, head=HEAD.replace("auc_low,", "")))
    with pytest.raises(UserError, match="table of methods"):
        read_truth(tmp_path / "nothing.csv")
    big = tmp_path / "big.csv"
    big.write_bytes(b"a" * (3 << 20))
    with pytest.raises(UserError, match="at most 2,097,152 bytes"):
        read_truth(big)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="table of methods"):
        read_truth(tmp_path / "binary.csv")
