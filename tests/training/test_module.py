import lightning as L
import pytest
import torch
import torch.nn.functional as F

from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.models import ViT
from fer_lightning.training.module import Classifier


def tiny(**options):
    return ViT(dim=16, depth=1, heads=2, **options)


@pytest.fixture
def data():
    return FERDataModule(source="drawn", drawn=Drawn(size=140), batch_size=32)


def trainer(**options):
    return L.Trainer(
        accelerator="cpu",
        max_epochs=options.pop("max_epochs", 1),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        **options,
    )


def test_logged_names_and_values(data):
    module = Classifier(tiny())
    run = trainer()
    run.fit(module, data)
    logged = run.callback_metrics
    assert {"train/loss", "train/acc", "val/loss", "val/acc", "val/macro_f1", "val/ece"} <= set(
        logged
    )
    assert {f"val/recall/{name}" for name in data.classes} <= set(logged)
    run.test(module, data, verbose=False)
    found = module.predictions
    assert found.row.tolist() == sorted(data.split.test.tolist())
    expected = (found.logits.argmax(1) == found.label).float().mean()
    assert run.callback_metrics["test/acc"].item() == pytest.approx(expected.item())
    assert run.callback_metrics["test/loss"].item() == pytest.approx(
        F.cross_entropy(found.logits, found.label).item(), abs=1e-6
    )


def test_train_loss_is_the_mean_over_the_steps(data):
    module = Classifier(tiny(), lr=1e-9)
    run = trainer()
    run.fit(module, data)
    losses = torch.stack([loss for loss, _, _ in module._steps])
    assert len(losses) == 4
    assert run.callback_metrics["train/loss"].item() == pytest.approx(losses.mean().item())


def test_balanced_class_weights(data):
    module = Classifier(tiny(), class_weights="balanced")
    run = trainer()
    run.fit(module, data)
    counts = torch.tensor(data.train_counts)
    torch.testing.assert_close(module.loss_weight, 112 / (7 * counts))


def test_cosine_schedule_ends_at_zero_after_warm_up(data):
    module = Classifier(tiny(), lr=0.01, schedule="cosine", warmup_epochs=0.5, optimizer="sgd")
    seen = []

    class Watch(L.Callback):
        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            seen.append(trainer.optimizers[0].param_groups[0]["lr"])

    trainer(callbacks=[Watch()]).fit(module, data)
    assert seen == pytest.approx([0.005, 0.01, 0.01, 0.005])
    seen.clear()
    by_steps = {"max_epochs": -1, "max_steps": 4}  # warm-up is counted in epochs of four steps
    trainer(callbacks=[Watch()], **by_steps).fit(module, data)
    assert seen == pytest.approx([0.005, 0.01, 0.01, 0.005])


def test_same_seed_same_numbers():
    def train():
        L.seed_everything(3, verbose=False)
        module = Classifier(tiny())
        data = FERDataModule(source="drawn", drawn=Drawn(size=140))
        run = trainer()
        run.fit(module, data)
        return {k: v.item() for k, v in run.callback_metrics.items() if v == v}

    assert train() == train()


def test_soft_labels_are_the_target(data):
    module = Classifier(tiny())
    data.setup("fit")
    batch = data.on_after_batch_transfer(next(iter(data.train_dataloader())), 0)
    soft = torch.full((len(batch.label), 7), 1 / 7)
    expected = F.cross_entropy(module.net(batch.image), soft)
    torch.testing.assert_close(module.training_step(batch._replace(soft=soft), 0), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "adamww"}, "did you mean 'adamw'"),
        ({"lr": 0.0}, "learning rate above 0"),
        ({"label_smoothing": 1.0}, "label_smoothing"),
    ],
)
def test_impossible_options(data, options, message):
    with pytest.raises(UserError, match=message):
        trainer().fit(Classifier(tiny(), **options), data)
