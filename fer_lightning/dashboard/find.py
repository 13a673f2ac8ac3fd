"""Finding run folders below a folder, however studies and sweeps nest them."""

from pathlib import Path

from fer_lightning.errors import UserError

MARKS = ("metrics.csv", "summary.json", "config.yaml", "tensorboard")  # a run's, one is enough
DEEPEST = 4  # folders between a run and the folder that was given
MOST = 10_000  # run folders


def find_runs(root: Path) -> dict[str, Path]:
    """Return the run folders by the name they are shown under: the path from `root`.

    Raises:
        UserError: there is no such folder, or it holds far too many.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for name in ("study/cell", "single", "empty"):
    ...         Path(place, name).mkdir(parents=True)
    ...     for name in ("study/cell", "single"):
    ...         Path(place, name, "config.yaml").touch()
    ...     sorted(find_runs(Path(place)))
    ['single', 'study/cell']
    """
    if not root.is_dir():
        found = "a file" if root.exists() else "nothing"
        raise UserError(
            f"expected a folder of runs but found {found} at {root}; train one with "
            "fer-lightning fit, or name another folder"
        )
    if _is_run(root):
        return {root.resolve().name: root}
    runs = {path.relative_to(root).as_posix(): path for path in _below(root, DEEPEST)}
    if len(runs) > MOST:
        raise UserError(f"expected at most {MOST:,} runs but found {len(runs):,} in {root}")
    return runs


def _below(folder: Path, depth: int) -> list[Path]:
    try:
        children = sorted(child for child in folder.iterdir() if child.name[0] != ".")
        inside = [child for child in children if child.is_dir()]
    except OSError:  # not ours to read, or gone in the meantime
        return []
    runs = [child for child in inside if _is_run(child)]
    if depth > 1:
        for child in inside:
            if child not in runs:
                runs += _below(child, depth - 1)
    return runs


def _is_run(folder: Path) -> bool:
    return any((folder / mark).exists() for mark in MARKS)
