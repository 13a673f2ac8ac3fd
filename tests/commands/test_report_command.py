"""``fer-lightning report`` as a user meets it."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from report_runs import LOOKING, write_run

from fer_lightning.cli import main as cli
from fer_lightning.runs.folder import RunFolder

PROGRAM = """
import sys
from fer_lightning.cli import main
code = main(sys.argv[1:])
heavy = {"torch", "lightning", "wandb", "timm", "torchvision"} & set(sys.modules)
if "t-SNE" not in open(f"{sys.argv[-1]}/report.md").read():
    heavy |= {"sklearn"} & set(sys.modules)  # takes a second, which only t-SNE needs
sys.exit(code or (f"imported {heavy}" if heavy else 0))
"""


@pytest.mark.parametrize("tsne", [True, False])
def test_report_is_written_without_torch(tmp_path, tsne):
    write_run(tmp_path, "vit", images=70, probe=21, leave_out=LOOKING[1:] if tsne else LOOKING)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "report", str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "1 run, " in done.stdout
    assert (tmp_path / "report.html").is_file()
    assert (tmp_path / "figures" / "tsne_vit-100pct-seed1.pdf").is_file() is tsne


def test_single_runs_and_several_folders(run, tmp_path):
    folders = [
        write_run(tmp_path / place, model, leave_out=LOOKING)
        for place, model in (("a", "cnn"), ("b", "vit"))
    ]
    code, out, _ = run("report", folders[0], "--out", "one", "--no-faces")
    assert code == 0
    assert "1 run," in out
    assert Path("one/report.html").is_file()
    assert "on request" in Path("one/report.md").read_text()
    code, _, err = run("report", *folders)
    assert code == 2
    assert "expected --out with a report of 2 folders" in err


@pytest.mark.parametrize(
    ("name", "message"),
    [("nothing", "expected a folder of runs"), ("empty", "at least one finished run")],
)
def test_folders_without_runs_are_told(run, tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    code, _, err = run("report", name)
    assert code == 2
    assert message in err
    assert not list((tmp_path / "empty").iterdir())


def test_fit_writes_the_page_of_its_run(fit):
    code, _, err = fit("--report=true")
    assert code == 0
    page = Path("runs/vit-seed42/report.html")
    assert f"Report: {page}" in err
    text = page.read_text()
    assert "drawn faces instead of FER-2013" in text
    assert "latency" in text


def test_a_page_that_cannot_be_written_costs_one_warning(monkeypatch, tmp_path):
    from fer_lightning.api import training_run

    def fails(path):
        raise RuntimeError("no fonts")

    monkeypatch.setattr(training_run, "write_page", fails)
    cli = SimpleNamespace(folder=RunFolder(tmp_path), _say=print)
    with pytest.warns(UserWarning, match=r"No report.html was written \(RuntimeError: no fonts\)"):
        training_run.TrainingRun._report(cli)


def test_a_rotten_run_is_left_out_and_named_on_screen_and_page(tmp_path, capsys):
    for seed in (1, 2, 3):
        run = write_run(tmp_path / "runs", seed=seed, leave_out=LOOKING)
    (run / "predictions.npz").write_bytes(b"PK\x03\x04 rotten")
    assert cli(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "report")]) == 0
    out = capsys.readouterr().out
    assert "2 runs" in out
    assert f"Left out: {run}: expected label, logits in" in out
    page = (tmp_path / "report" / "report.html").read_text()
    assert run.name in page
    assert "predictions.npz but no npz file" in page
