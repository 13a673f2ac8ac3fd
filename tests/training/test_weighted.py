"""Adaptive weighting inside a Trainer."""

import lightning as L
import pytest
import torch

from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.models import ViT
from fer_lightning.training.checkpoint import load_net
from fer_lightning.training.losses import AdaptiveWeighting
from fer_lightning.training.losses.adaptive_weighting import InstanceWeights
from fer_lightning.training.module import Classifier


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    L.seed_everything(3, verbose=False)
    net = ViT(dim=16, depth=1, heads=2)
    module = Classifier(net, schedule="cosine", weighting=AdaptiveWeighting())
    before = {name: value.clone() for name, value in module.state_dict().items()}
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    data = FERDataModule(source="drawn", drawn=Drawn(size=140), batch_size=50)
    trainer.fit(module, data)
    path = tmp_path_factory.mktemp("weighted") / "last.ckpt"
    trainer.save_checkpoint(path)
    return module, data, trainer, before, path


def test_every_parameter_learns_and_follows_the_schedule(trained):
    module, _, trainer, before, _ = trained
    after = module.state_dict()
    assert {name for name in before if name.startswith("objective.")} == {
        "objective.instance_weights.project.weight",
        "objective.instance_weights.score.weight",
    }
    assert [name for name in before if torch.equal(before[name], after[name])] == []
    groups = trainer.optimizers[0].param_groups
    assert [group["initial_lr"] for group in groups] == [3e-4] * len(groups)
    assert [group["lr"] for group in groups] == pytest.approx([0.0] * len(groups), abs=1e-9)


def test_the_epoch_s_weights_cover_the_training_images(trained):
    module, data, trainer, *_ = trained
    rows = torch.cat([step.row for step in module.weighed])
    assert sorted(rows.tolist()) == sorted(data.split.train.tolist())
    for step in module.weighed:  # batches of 50, 50 and 12
        assert step.weight.mean().item() == pytest.approx(1, rel=1e-5)
    losses = torch.stack([step.loss.mean() for step in module.weighed])
    logged = trainer.callback_metrics
    assert logged["train/loss"].item() == pytest.approx(losses.mean().item(), rel=1e-5)
    assert 0.9 < logged["train/weight_entropy"].item() <= 1
    assert logged["train/squared_norm"].item() > 0


def test_the_weights_are_no_part_of_the_model_in_a_checkpoint(trained):
    module, *_, path = trained
    net, _ = load_net(path)
    assert set(net.state_dict()) == set(module.net.state_dict())
    images = torch.rand(2, 1, 48, 48)
    torch.testing.assert_close(net(images), module.net.eval()(images))


def test_without_a_projection_the_features_are_scored():
    weights = InstanceWeights(5, AdaptiveWeighting(width=None))
    assert {name: tuple(p.shape) for name, p in weights.named_parameters()} == {
        "score.weight": (1, 5)
    }
    with torch.no_grad():
        weights.score.weight[0, 0] = 1.0
    features = torch.randn(4, 5)
    normed = torch.nn.functional.layer_norm(features, (5,))
    expected = (AdaptiveWeighting().alpha * normed[:, 0]).log_softmax(0)
    torch.testing.assert_close(weights(features), expected)
    with pytest.raises(UserError, match="or null for no projection"):
        AdaptiveWeighting(width=0)
