"""The options of a run beside those of trainer, model and data."""

from lightning.pytorch.cli import LightningArgumentParser

from fer_lightning.callbacks.early_stopping import FairEarlyStopping
from fer_lightning.tracking.wandb import Wandb

LINKED = ("num_classes", "in_chans", "image_size")  # what the model takes from the data


def add_run_options(parser: LightningArgumentParser) -> None:
    """Add them to the parser of ``fit``, ``validate``, ``test`` or ``predict``."""
    parser.add_lightning_class_args(FairEarlyStopping, "early_stopping")
    parser.add_class_arguments(Wandb, "wandb")
    parser.add_argument("--runs_dir", type=str, default="runs", help="Folder of run folders.")
    parser.add_argument("--run_name", type=str | None, default=None, help="Name of the folder.")
    parser.add_argument(
        "--resume",
        nargs="?",
        const="same",
        type=str | None,
        default=None,
        help="Go on with the newest run of the same configuration, or with a run folder.",
    )
    parser.add_argument(
        "--from_artifact",
        "--from-artifact",
        type=str | None,
        default=None,
        help="Start from weights on W&B, ENTITY/PROJECT/NAME:ALIAS, as from transfer.weights.",
    )
    parser.add_argument(
        "--test_after_fit", type=bool, default=True, help="Test the best checkpoint after fit."
    )
    parser.add_argument(
        "--report", type=bool, default=True, help="Write report.html after fit and test."
    )
    parser.add_argument(
        "--tensorboard", type=bool, default=True, help="Write event files for TensorBoard."
    )
    for name in LINKED:
        target = f"model.net.init_args.{name}"
        parser.link_arguments(f"data.{name}", target, apply_on="instantiate")
