"""Two of TensorBoard's pages, made to keep up with runs that come and go.

As they are, the projector reads each run's features once, and HParams takes its columns from the
first run alone; both are right again after a restart, but a training in progress is not restarted.
"""

from pathlib import Path
from typing import Any

from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams.backend_context import Context
from tensorboard.plugins.hparams.hparams_plugin import HParamsPlugin
from tensorboard.plugins.projector import projector_plugin

from fer_lightning.tracking.projector import CONFIG

TENSORS = 4  # sets of features kept in memory


class LiveProjector(projector_plugin.ProjectorPlugin):
    """The projector, which reads again what a training has replaced."""

    _changed_at: dict[str, float] | None = None
    _run_paths: dict[str, str] | None

    def _update_configs(self) -> None:
        super()._update_configs()
        now = {run: _changed(Path(path, CONFIG)) for run, path in (self._run_paths or {}).items()}
        if now != self._changed_at:
            self._changed_at = now
            self.tensor_cache = projector_plugin.LRUCache(TENSORS)
            self._run_paths = None
            super()._update_configs()


class AllColumns(Context):
    """Columns of the HParams page from all runs; results as the runs name them."""

    def _find_experiment_tag(self, runs: Any, include_metrics: bool) -> Any:
        found = super()._find_experiment_tag(runs, include_metrics)
        if found is not None:
            columns = self._compute_hparam_infos(runs)
            found.ClearField("hparam_infos")
            found.hparam_infos.extend(sorted(columns, key=lambda c: (not c.differs, c.name)))
        return found


class WholeHParams(HParamsPlugin):
    """The HParams page with the columns of all runs."""

    def __init__(self, context: TBContext) -> None:
        super().__init__(context)
        self._context = AllColumns(context)


REPLACED: dict[type, type] = {
    projector_plugin.ProjectorPlugin: LiveProjector,
    HParamsPlugin: WholeHParams,
}


def plugins() -> list[Any]:
    """TensorBoard's pages with ours in the places of theirs."""
    from tensorboard import default

    return [REPLACED.get(page, page) for page in default.get_plugins()]


def _changed(path: Path) -> float:
    return path.stat().st_mtime if path.is_file() else 0.0
