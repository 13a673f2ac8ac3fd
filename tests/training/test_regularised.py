"""The attention regulariser inside a Trainer."""

import lightning as L
import pytest
import torch

from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.models import CNN, Swin, ViT
from fer_lightning.training.losses.attention_regulariser import (
    AttentionRegulariser,
    attention_to_regions,
    guided_maps,
)
from fer_lightning.training.module import Classifier


def tiny():
    torch.manual_seed(0)
    return ViT(dim=16, depth=1, heads=2)


def data():
    return FERDataModule(source="drawn", drawn=Drawn(size=140), batch_size=32)


def fit(module, source=None, **options):
    L.seed_everything(3, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
        **{"max_epochs": 1} | options,
    )
    trainer.fit(module, source or data())
    return {k: v.item() for k, v in trainer.callback_metrics.items()}


@pytest.mark.parametrize("kind", ["attention", "cam"])
def test_the_step_adds_the_weighed_term(kind):
    seen = []

    class Watched(Classifier):
        def training_step(self, batch, batch_idx):
            loss = super().training_step(batch, batch_idx)
            maps = guided_maps(self.net, batch.image, batch.label, kind)[1]
            term = attention_to_regions(maps, batch.mask)
            seen.append((loss.item(), self._steps[-1][0].item(), term.item()))
            return loss

    how = AttentionRegulariser(weight=0.4, kind=kind, warmup_epochs=2)
    logged = fit(Watched(tiny(), lr=1e-9, regulariser=how))
    for loss, plain, term in seen:
        assert loss == pytest.approx(plain + 0.2 * term, rel=1e-5)
    assert logged["train/attention_loss"] == pytest.approx(
        sum(term for *_, term in seen) / len(seen), rel=1e-5
    )
    assert logged["train/loss"] == pytest.approx(sum(p for _, p, _ in seen) / len(seen), rel=1e-5)


def test_a_weight_of_zero_trains_as_without():
    plain = Classifier(tiny(), "sgd", lr=0.1)
    zero = Classifier(tiny(), "sgd", lr=0.1, regulariser=AttentionRegulariser(weight=0))
    without, with_zero = fit(plain), fit(zero)
    for a, b in zip(plain.net.parameters(), zero.net.parameters(), strict=True):
        torch.testing.assert_close(a, b)
    assert set(with_zero) - set(without) == {"train/attention_loss"}


def test_without_a_regulariser_there_are_no_masks_and_the_model_is_called_as_ever():
    source, module = data(), Classifier(tiny())
    module.net.attend = module.net.features = None  # whoever calls them fails
    module.net.forward = lambda x: torch.zeros(len(x), 7, requires_grad=True)
    fit(module, source)
    assert source.parts["train"].mask is None


def test_a_cnn_trains_with_its_cam():
    logged = fit(Classifier(CNN(), regulariser=AttentionRegulariser(kind="cam")))
    assert logged["train/attention_loss"] > 0


@pytest.mark.parametrize("net", [CNN, Swin])
def test_a_model_without_attention_is_refused_at_once(net):
    with pytest.raises(UserError, match="global attention but got"):
        Classifier(net(), regulariser=AttentionRegulariser())


def test_asking_leaves_the_model_as_it_was():
    net = tiny()
    net.head.eval()
    Classifier(net, regulariser=AttentionRegulariser())
    assert [m.training for m in (net, net.norm, net.head)] == [True, True, False]


def test_a_schedule_without_an_end_is_refused():
    how = AttentionRegulariser(schedule="cosine")
    with pytest.raises(UserError, match="max_epochs"):
        fit(Classifier(tiny(), regulariser=how), max_epochs=-1, max_steps=2)
