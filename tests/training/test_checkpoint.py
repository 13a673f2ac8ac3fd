import pickle

import lightning as L
import pytest
import torch

from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.models import CNN, Swin, ViT, describe
from fer_lightning.training.checkpoint import check_description, load_net, read_checkpoint
from fer_lightning.training.module import Classifier


def quiet_trainer():
    return L.Trainer(
        accelerator="cpu",
        fast_dev_run=1,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )


def train(net, path, **options):
    data = FERDataModule(source="drawn", drawn=Drawn(size=70), **options)
    module = Classifier(net)
    trainer = quiet_trainer()
    trainer.fit(module, data)
    trainer.save_checkpoint(path)
    return module, data, trainer


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "vit.ckpt"
    return path, *train(ViT(dim=16, depth=1, heads=2), path)


def test_a_checkpoint_rebuilds_its_model_alone(saved):
    path, module, data, _ = saved
    net, description = load_net(path)
    images = torch.rand(2, 1, 48, 48)
    torch.testing.assert_close(net(images), module.net.eval()(images))
    assert description["classes"] == list(data.classes)
    assert description["fingerprint"] == data.image_set.fingerprint


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (CNN(), "expected a checkpoint of cnn but got one of vit"),
        (ViT(dim=32, depth=1, heads=2), "it was made with dim 16 instead of 32"),
    ],
)
def test_a_checkpoint_of_another_model_is_refused(saved, net, message):
    path, _, data, trainer = saved
    with pytest.raises(UserError, match=message):
        trainer.test(Classifier(net), data, ckpt_path=path, weights_only=True)


class Hostile:
    def __reduce__(self):
        return print, ("executed",)


def test_code_in_a_checkpoint_is_not_executed(tmp_path, capsys):
    path = tmp_path / "hostile.ckpt"
    torch.save({"state_dict": Hostile()}, path)
    with pytest.raises(UserError, match="was not loaded because it could execute code"):
        read_checkpoint(path)
    path.write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(UserError, match=r"could execute code|damaged"):
        read_checkpoint(path)
    assert "executed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "damaged or no checkpoint"), (b"not a checkpoint", "could execute code|damaged")],
)
def test_no_checkpoint(tmp_path, content, message):
    path = tmp_path / "x.ckpt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_checkpoint(path)


def test_missing_and_foreign_checkpoints(tmp_path):
    with pytest.raises(UserError, match="found no file"):
        read_checkpoint(tmp_path / "none.ckpt")
    torch.save({"state_dict": {}}, tmp_path / "other.ckpt")
    with pytest.raises(UserError, match="written by fer_lightning"):
        read_checkpoint(tmp_path / "other.ckpt")


def test_a_cut_checkpoint_is_named(saved, tmp_path):
    cut = tmp_path / "cut.ckpt"
    cut.write_bytes(saved[0].read_bytes()[:5000])
    with pytest.raises(UserError, match=r"cut\.ckpt"):
        read_checkpoint(cut)


@pytest.fixture(scope="module")
def standard(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "standard.ckpt"
    return path, *train(ViT(dim=16, depth=1, heads=2), path, scale="standard")[:2]


def test_the_scale_is_that_of_the_training_pixels_and_goes_with_the_checkpoint(standard):
    path, module, data = standard
    pixels = data.train.images / 255
    assert module.net.scale["mean"] == pytest.approx([pixels.mean()])
    assert module.net.scale["std"] == pytest.approx([pixels.std()])
    net, _ = load_net(path)
    assert net.scale == module.net.scale
    images = torch.rand(2, 1, 48, 48)
    torch.testing.assert_close(net(images), module.net.eval()(images))


def test_the_checkpoint_decides_the_scale_of_a_test(standard):
    path, module, data = standard
    unit = FERDataModule(source="drawn", drawn=Drawn(size=70))
    other = Classifier(ViT(dim=16, depth=1, heads=2))
    quiet_trainer().test(other, unit, ckpt_path=path, weights_only=True, verbose=False)
    quiet_trainer().test(module, data, verbose=False)
    assert other.net.scale == module.net.scale
    torch.testing.assert_close(other.predictions.logits, module.predictions.logits)


def test_a_training_goes_on_at_the_same_scale_only(standard):
    path, module, data = standard
    again = Classifier(ViT(dim=16, depth=1, heads=2))
    quiet_trainer().fit(again, data, ckpt_path=path, weights_only=True)
    assert again.net.scale == module.net.scale
    unit = FERDataModule(source="drawn", drawn=Drawn(size=70))
    with pytest.raises(UserError, match="expected a checkpoint of the same scale"):
        quiet_trainer().fit(Classifier(ViT(dim=16, depth=1, heads=2)), unit, ckpt_path=standard[0])


def test_an_argument_that_came_later_has_its_default():
    net = Swin()
    saved = describe(net)
    del saved["init_args"]["init"]
    check_description({"fer_lightning": {"net": saved}}, net)
    with pytest.raises(UserError, match="init 'trunc_normal' instead of 'xavier'"):
        check_description({"fer_lightning": {"net": saved}}, Swin(init="xavier"))


def test_a_checkpoint_without_weights_cannot_ask_for_a_large_model(tmp_path):
    """A description of a few bytes would otherwise take 8 GB."""
    path = tmp_path / "large.ckpt"
    net = {"name": "vit", "init_args": {"dim": 1 << 13}}
    torch.save({"fer_lightning": {"net": net}, "state_dict": {}}, path)
    with pytest.raises(UserError, match="at most 10,000,000 parameters but"):
        load_net(path)
