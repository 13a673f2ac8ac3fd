"""What takes support for H2 back, and what a reader must know beside it."""

from collections.abc import Sequence

from fer_lightning.study.hypotheses.arbiter import Arbitration
from fer_lightning.study.hypotheses.focus_measures import Measured
from fer_lightning.study.hypotheses.nulls import Beside
from fer_lightning.study.hypotheses.verdict import in_words

GATES = (
    "The difference is that of log LFR of KEY with all maps averaged to one grid, because LFR "
    "itself grows with a map's resolution and one map without heat outside decides its mean. "
    "Support is taken back, to undecided, where the share of images with LFR >= 1 with zero maps "
    "counted as 0 points the other way, where LSI on the same grid does, where the first model is "
    "not above its own untrained twins, where the arbiter contradicts, or where twins or arbiter "
    "are missing."
)


def against(
    measured: Sequence[Measured],
    zeros_in: Sequence[Measured],
    beside: Beside,
    arbiter: Arbitration | None,
    models: tuple[str, str],
) -> list[str]:
    """Say what takes support back."""
    sides = {(o.name, o.resolution): o.comparison.interval.side for o in measured}
    zeros = {(o.name, o.resolution): o.comparison.interval.side for o in zeros_in}
    found = []
    if zeros.get(("share LFR >= 1", "matched"), 0) < 0:
        found.append("counting zero maps as 0 turns the difference round")
    if sides.get(("LSI", "matched"), 0) < 0:
        found.append("LSI points the other way")
    if beside.above_twins is None:
        found.append("there are no untrained twins to compare with")
    elif not beside.above_twins:
        found.append(f"{models[0]} is not above its own untrained twins")
    if arbiter is None:
        found.append("nobody asked the arbiter (no occlusion values)")
    elif arbiter.contradicts:
        found.append("hiding the key regions contradicts it")
    return found


def caveats(
    measured: Sequence[Measured],
    main: Measured,
    beside: Sequence[Beside],
    arbiter: Arbitration | None,
    models: tuple[str, str],
) -> list[str]:
    """Say what a reader must know beside the verdict."""
    told = []
    if main.comparison.excluded:
        told.append(
            f"{main.comparison.excluded} of {main.comparison.n * len(main.seeds)} pairs are left "
            "out because a map is zero; rows with zero maps counted as 0 stand beside."
        )
    native = [o for o in measured if (o.name, o.resolution) == ("log LFR", "native")]
    if native and native[0].comparison.interval.side != main.comparison.interval.side:
        told.append(
            "At the maps' own resolutions the answer is another "
            f"({in_words(native[0].row)}): resolution decides it."
        )
    for model, one in zip(models, beside, strict=True):
        if one.above_twins is False:
            told.append(f"{model} looks at key regions no more than untrained twins of it do.")
        if one.above_blobs is False:
            told.append(
                f"A blob of heat at the image's centre, which knows nothing, reaches {model}'s LFR."
            )
    if arbiter is not None and not arbiter.depends:
        told.append(
            f"Hiding the key regions does not clearly cost {models[0]} more than hiding as many "
            "pixels at random."
        )
    return told
