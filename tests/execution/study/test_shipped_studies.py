"""Every shipped study can be planned: its options exist, cells differ, questions are known."""

from pathlib import Path

import pytest

from fer_lightning.commands.resolve import resolve
from fer_lightning.execution.study.cells import Start, make_cells, make_sources
from fer_lightning.execution.study.plan import read_study
from fer_lightning.hypotheses import read_asked
from fer_lightning.look.methods import find_methods

STUDIES = sorted((Path(__file__).parents[3] / "configs/study").glob("*.yaml"))
CELLS = {
    "patches_vs_pixels": 15,
    "attentive_pooling": 45,
    "background_attention": 100,
    "adaptive_weighting": 25,
    "transfer": 24,
    "transfer_cifar10": 24,
}


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_shipped_study_can_be_planned(path):
    study = read_study(path)
    assert study.name == path.stem
    sources = make_sources(study, resolve, lambda config: "source")
    starts = {(c.model, c.seed): Start(c.identity, Path("best.ckpt")) for c in sources}

    def fingerprint(config):
        return str(config["data"]["cue"].get("strength"))

    cells = make_cells(study, resolve, fingerprint, "fer2013.zip", starts)
    assert len(cells) == CELLS.get(path.stem, len(cells))
    assert len({cell.identity for cell in (*sources, *cells)}) == len(cells) + len(sources)
    read_asked(study.hypotheses, [model.name for model in study.models])
    if study.focus is not None:
        find_methods(study.focus.methods)
