"""Weights on W&B that a training starts from: fetched before the model is made, then forgotten."""

import tempfile
from pathlib import Path
from typing import Any

from fer_lightning.errors import UserError
from fer_lightning.tracking.wandb_artifact import Fetched, fetch_weights


class StartWeights:
    """An artifact that stands for ``model.transfer.weights``.

    Args:
        name: ``ENTITY/PROJECT/NAME:ALIAS``, or None.
    """

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.fetched: Fetched | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def fetch_into(self, transfer: Any, needed: bool) -> None:
        """Fetch the weights and give them to the model as a file.

        Args:
            transfer: the options of ``model.transfer``, which are changed.
            needed: otherwise a checkpoint of the run itself has them.

        Raises:
            UserError: a file is given too, or the artifact cannot be fetched.
        """
        if self.name is None:
            return
        if transfer.weights is not None:
            raise UserError(
                "expected --from_artifact or --model.transfer.weights but got both; leave one out"
            )
        transfer.weights = self.name
        if needed:
            self._folder = tempfile.TemporaryDirectory(prefix="fer_lightning-")
            self.fetched = fetch_weights(self.name, Path(self._folder.name))
            transfer.weights = str(self.fetched.path)

    def tell_of(self, loaded: list[dict[str, Any]]) -> None:
        """Name the artifact in the reports on what was loaded, and remove the file."""
        if self.fetched is not None and self._folder is not None:
            for report in loaded:
                report |= {"file": self.fetched.name, "digest": self.fetched.digest}
            self._folder.cleanup()
