"""Kept patches and slow pooling, in real runs on drawn faces."""

import lightning as L
import pytest

from fer_lightning.callbacks import KeptTokensCallback, PoolingSchedule
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.models import CNN, ViT
from fer_lightning.models.layers.pooling import AttentivePooling
from fer_lightning.training.module import Classifier


class Watch(L.Callback):
    """What is kept in each epoch of training and validation."""

    def __init__(self):
        self.seen = []

    def on_train_batch_end(self, trainer, pl_module, *args):
        self.seen.append((trainer.current_epoch, pl_module.net.pooling))

    def on_validation_epoch_end(self, trainer, pl_module):
        assert self.seen[-1] == (trainer.current_epoch, pl_module.net.pooling)


def run(folder, net, *callbacks, epochs=1, ckpt=None):
    L.seed_everything(1, verbose=False)
    folder.mkdir(exist_ok=True)
    data = FERDataModule(source="drawn", drawn=Drawn(size=140), batch_size=128)
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        logger=False,
        callbacks=list(callbacks),
        default_root_dir=folder,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )
    module = Classifier(net)
    trainer.fit(module, data, ckpt_path=ckpt, weights_only=True)
    return trainer, module, data


def small(**pooling):
    return ViT(dim=16, depth=2, heads=2, **pooling)


def test_pictures_of_every_epoch_and_the_test(tmp_path):
    net = small(keep_patches=30, keep_rate=0.5)
    trainer, module, data = run(tmp_path, net, KeptTokensCallback(samples=20), epochs=2)
    trainer.test(module, data, verbose=False)
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.png"))
    assert found == [f"kept_tokens/{name}.png" for name in ("epoch_000", "epoch_001", "test")]


@pytest.mark.parametrize("net", [CNN(widths=(2, 2, 4, 4), feature_width=8), small()])
def test_a_model_that_drops_nothing_is_left_out_with_a_note(tmp_path, net):
    with pytest.warns(UserWarning, match=r"leaves this run out: .* drops patches but got"):
        run(tmp_path, net, KeptTokensCallback(samples=20))
    assert not (tmp_path / "kept_tokens").exists()


def test_pooling_sets_in_linearly_and_ends_at_the_models_own(tmp_path):
    watch, net = Watch(), small(keep_patches=32, keep_rate=0.5)
    run(tmp_path, net, PoolingSchedule(epochs=2), watch, KeptTokensCallback(samples=20), epochs=4)
    assert dict(watch.seen) == {
        0: AttentivePooling(64, 1.0),
        1: AttentivePooling(48, 0.75),
        2: AttentivePooling(32, 0.5),
        3: AttentivePooling(32, 0.5),
    }
    found = sorted(path.name for path in (tmp_path / "kept_tokens").iterdir())
    assert found == ["epoch_001.png", "epoch_002.png", "epoch_003.png"]  # 0 keeps all


def test_a_resumed_run_goes_on_where_it_was(tmp_path):
    trainer, _, _ = run(tmp_path, small(keep_patches=32), PoolingSchedule(epochs=4), epochs=2)
    trainer.save_checkpoint(tmp_path / "two.ckpt")
    watch, net = Watch(), small(keep_patches=32)
    run(tmp_path, net, PoolingSchedule(4), watch, epochs=3, ckpt=tmp_path / "two.ckpt")
    assert dict(watch.seen) == {2: AttentivePooling(48, 1.0)}
    assert net.pooling == AttentivePooling(32, 1.0)  # what is tested


def test_an_interrupted_run_leaves_the_models_own(tmp_path):
    class Fail(L.Callback):
        def on_train_batch_end(self, trainer, pl_module, *args):
            assert pl_module.net.pooling.keep_patches == 64
            raise RuntimeError("stop here")

    net = small(keep_patches=32)
    with pytest.raises(RuntimeError, match="stop here"):
        run(tmp_path, net, PoolingSchedule(2), Fail())
    assert net.pooling == AttentivePooling(32)


def test_bad_schedules(tmp_path):
    with pytest.raises(UserError, match="epochs of at least 1 but got 0"):
        PoolingSchedule(0)
    with pytest.raises(UserError, match="attentive pooling but got CNN"):
        run(tmp_path, CNN(widths=(2, 2, 4, 4), feature_width=8), PoolingSchedule(2))
