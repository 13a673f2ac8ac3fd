"""YAML files that stand for more than they say."""

import time

import pytest

from fer_lightning.cli import main as cli
from fer_lightning.errors import UserError
from fer_lightning.schema import read_mapping, read_yaml

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, 9)
)
BOMBS = {
    "laughs": LAUGHS,
    "merges": MERGES,
    "itself": "a: &a [*a]\n",
    "deep": "[" * 100_000,
    "deep block": "".join(" " * i + "a:\n" for i in range(1000)),
    "many": "a: [" + "1, " * 300_000 + "1]",
    "long": "a: " + "x" * 1_000_000,
    "keys": "".join(f"k{i}: {i}\n" for i in range(60_000)),
    "questions": "? " * 100_000,
    "bytes": "a: \x00",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_at_once(tmp_path, name):
    path = tmp_path / "bomb.yaml"
    path.write_text(BOMBS[name])
    start = time.process_time()
    if name == "long":  # no bomb: one word of a megabyte
        assert len(read_yaml(path)["a"]) == 1_000_000
    else:
        with pytest.raises(UserError, match=r"expected YAML in .*bomb\.yaml but"):
            read_yaml(path)
    assert time.process_time() - start < 5  # seconds; half of one on an idle machine


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: \xff\xfe\xff")
    with pytest.raises(UserError, match="expected YAML"):
        read_mapping(path)


def test_aliases_of_honest_files_are_read(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("base: &base {x: 1, y: [2, 3]}\none: *base\nother: {<<: *base, x: 4}\n")
    assert read_mapping(path)["other"] == {"x": 4, "y": [2, 3]}


@pytest.mark.parametrize(
    "command", [["fit", "--config"], ["study"], ["sweep"]], ids=["fit", "study", "sweep"]
)
def test_no_command_reads_a_bomb(tmp_path, command, capsys):
    path = tmp_path / "bomb.yaml"
    path.write_text(LAUGHS)
    assert cli([*command, str(path)]) == 2
    assert "stands for more than 20,000 values" in capsys.readouterr().err
