"""``fit``, ``validate``, ``test`` and ``predict``."""

import logging
import warnings

from fer_lightning.commands.arguments import check_configs, user_errors
from fer_lightning.commands.training_cli import TrainingCLI
from fer_lightning.data.datamodule import FERDataModule
from fer_lightning.lit.module import Classifier
from fer_lightning.shipped import with_shipped_configs

COMMANDS = ("fit", "validate", "test", "predict")
SEED = 42
TRAINER_DEFAULTS = {
    "max_epochs": 30,
    "num_sanity_val_steps": 0,
    "use_distributed_sampler": False,  # the data module's own samplers know the ranks
    "enable_model_summary": False,
}
HARMLESS = (  # warnings about what is so on purpose
    ".*does not have many workers.*",  # the data is in memory
    ".*smaller than the logging interval.*",  # logged at the end of epochs only
    ".*recommended to use .*sync_dist=True.*",  # predictions are gathered: equal on all ranks
    ".*The dirpath has changed from.*",  # a checkpoint of another run is measured
    ".*custom batch sampler `EvalBatches`.*",  # it returns each image once
    ".*predict returned None.*",  # predictions are gathered by image
    ".*LeafSpec.*",  # Lightning's own use of torch
    ".*Checkpoint directory .* exists and is not empty.*",  # created with the run folder
    r".*module\(s\) in eval mode at the start of training.*",  # what is frozen
)


def main(argv: list[str]) -> int:
    """Run one of the commands with its options."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for harmless in HARMLESS:
        warnings.filterwarnings("ignore", message=harmless)
    no_exit = {"exit_on_error": False}  # errors become one sentence
    argv = with_shipped_configs(argv)
    check_configs(argv)
    with user_errors():
        TrainingCLI(
            Classifier,
            FERDataModule,
            save_config_callback=None,
            trainer_defaults=TRAINER_DEFAULTS,
            seed_everything_default=SEED,
            parser_kwargs=no_exit | dict.fromkeys(COMMANDS, no_exit),
            auto_configure_optimizers=False,
            load_from_checkpoint_support=False,
            args=argv,
        )
    return 0
