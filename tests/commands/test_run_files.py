"""Everything that a real run leaves behind is an artefact of `FILES`, read by its one reader."""

import re
from pathlib import Path

import pandas as pd

from fer_lightning.runs.files import FILES, Answers, Embedding, Maps, Metrics, known_file
from fer_lightning.runs.find import find_runs

PACKAGE = Path(__file__).parents[2] / "fer_lightning"
READ_AS = {
    **dict.fromkeys(("config", "run", "split", "summary", "hashes"), dict),
    **dict.fromkeys(("focus", "focus_samples", "focus_epochs", "hiding"), pd.DataFrame),
    **dict.fromkeys(("randomisation", "answers"), pd.DataFrame),
    "metrics": Metrics,
    "predictions": Answers,
    "features": Embedding,
    "maps": Maps,
}
UNREAD = {"checkpoints", "tensorboard", "wandb", "pictures", "report", "lock"}


def test_every_artefact_of_a_run_is_known_and_read(fit, run):
    code, _, err = fit(
        "--run_name=one", "--data.drawn.size=400", "--trainer.max_epochs=1", config="vit"
    )
    assert code == 0, err
    folder = Path("runs/one")
    assert run("focus", "--checkpoint", folder / "checkpoints/best.ckpt", "--n=8")[0] == 0
    again = f"--config={folder / 'config.yaml'}"
    code, _, err = run("predict", again, "--ckpt_path", folder / "checkpoints/best.ckpt")
    assert code == 0, err
    predicted = max(Path("runs").iterdir(), key=lambda path: path.stat().st_mtime)
    assert err.endswith(f"images predicted: {predicted / 'predictions.csv'}\n")
    assert [*find_runs(Path("runs"))] == ["one"], "answers of predict are no run"
    assert run("check", "runs")[0] == 0
    found = {path: known_file(path) for root in (folder, predicted) for path in root.iterdir()}
    found |= {path: known_file(path) for path in (folder / "controls").iterdir()}
    found.pop(folder / "controls")
    assert {path.name for path, name in found.items() if name is None} == set()
    for path, name in found.items():
        if name not in UNREAD:
            content = FILES[name].reader(path)
            assert isinstance(content, READ_AS[name]), path
            assert len(content), path
    assert READ_AS.keys() <= set(found.values())


def test_file_names_of_a_run_stand_in_one_place():
    names = {name for file in FILES.values() for name in (file.name, *file.before) if "." in name}
    literal = re.compile(rf"""["'/]({"|".join(map(re.escape, names))})["']""")
    for path in PACKAGE.rglob("*.py"):
        # explain writes no run folder
        if path not in (PACKAGE / "runs/files.py", PACKAGE / "commands/explain.py"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                example = line.lstrip().startswith((">>>", "...", "["))
                assert example or not literal.search(line), f"{path}:{number}: {line.strip()}"
