"""A rehearsal: a whole study in minutes, on drawn faces, before days are spent on it."""

from dataclasses import replace
from typing import Any

from fer_lightning.execution.study.plan import FocusPlan, ModelPlan, Study

FACES = 140  # drawn; 112 of them are trained on
SMALLEST, LARGEST = 14, 80  # training images where a study varies their number
LOOKED_AT = 10  # test faces
SEEDS = 2
SMALL = {
    "data.source": "drawn",
    "data.data_dir": None,
    "data.landmarks": None,
    "data.masks": None,
    "data.regions": None,
    "data.split": "ratio",
    "data.drawn.size": FACES,
    "data.drawn.difficulty": 0.0,
    "data.batch_size": 28,
    "model.warmup_epochs": 0,
    "trainer.max_epochs": 1,
    "trainer.enable_progress_bar": False,
    "wandb.mode": "disabled",
    "tensorboard": False,
}


def rehearsal(study: Study) -> Study:
    """Shrink a study to what shows that it runs from its file to its report.

    Every model, every hypothesis and every source of weights stays, each trained for one epoch on
    drawn faces. Of fractions the first and the last stay, of the values of a varied option these
    and the one in the middle, of seeds the first two. Earlier results do not count, and what comes
    out decides nothing.

    Args:
        study: as `read_study` returns it.
    """
    values = list(dict.fromkeys(plan.varied["value"] for plan in study.models if plan.varied))
    some = [values[i] for i in (0, len(values) // 2, -1)] if values else []
    kept = [plan for plan in study.models if not plan.varied or plan.varied["value"] in some]
    focus = study.focus
    return replace(
        study,
        name=f"{study.name}_rehearsal",
        models=tuple(_small(plan, values) for plan in kept),
        sources=tuple(_small(plan, values) for plan in study.sources),
        fractions=tuple(dict.fromkeys((study.fractions[0], study.fractions[-1]))),
        seeds=study.seeds[:SEEDS],
        data_dir=None,
        focus=focus and FocusPlan(LOOKED_AT, focus.methods, "maps"),
        results=None,
        rehearsed=True,
    )


def _small(plan: ModelPlan, values: list[Any]) -> ModelPlan:
    """Shrink a model's training; its network stays as it is.

    >>> plan = ModelPlan("vit", (), {"data.train_size": 500, "model.net.depth": 2})
    >>> small = _small(plan, [500, 2000]).overrides
    >>> small["data.train_size"], small["model.net.depth"], small["trainer.max_epochs"]
    (20, 2, 1)
    """
    overrides = {"trainer.callbacks": [], **plan.overrides, **SMALL}
    size = overrides.get("data.train_size")
    if size is not None:
        share = size / max([size, *values])
        overrides["data.train_size"] = max(SMALLEST, round(LARGEST * share))
    return replace(plan, overrides=overrides)
