import pytest

from fer_lightning.runs.choices import same_settings
from fer_lightning.runs.folder import unfinished_run
from fer_lightning.runs.identity import decisive

ASKED = "threads: auto\nmodel:\n  lr: 1\n  compile: auto\n"


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (ASKED, True),
        ("threads: 1\nmodel:\n  lr: 1\n  compile: true\n", True),
        ("model: {compile: false, lr: 1}\nthreads: 2\n", True),
        ("threads: 1\nmodel:\n  lr: 2\n  compile: true\n", False),
        ("threads: [1\n", False),  # damaged
        ("", False),
    ],
)
def test_what_was_left_open_may_be_anything(tmp_path, written, same):
    path = tmp_path / "config.yaml"
    path.write_text(written)
    assert same_settings(ASKED, path) is same


def test_what_was_not_left_open_must_be_the_same(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("threads: 1\n")
    assert unfinished_run(tmp_path, "threads: 2\n") is None
    assert unfinished_run(tmp_path, "threads: auto\n").path == tmp_path / "run"


def test_threads_and_compiling_are_no_part_of_a_cells_identity():
    configs = [
        {"seed_everything": 1, "model": {"lr": 1}},
        {"seed_everything": 1, "model": {"lr": 1, "compile": "auto"}, "threads": "auto"},
        {"seed_everything": 1, "model": {"lr": 1, "compile": True}, "threads": 2},
    ]
    assert len({str(decisive(config, "f")) for config in configs}) == 1
