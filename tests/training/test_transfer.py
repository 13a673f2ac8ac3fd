"""Training that starts from other weights, of which a part may stay as it is."""

import lightning as L
import pytest
import torch

from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.errors import UserError
from fer_lightning.models import CNN, HybridViT, SmallResNet, ViT
from fer_lightning.training.module import Classifier
from fer_lightning.training.transfer import Transfer

SIZES = {"num_classes": 7, "in_chans": 1, "image_size": 48}


def tiny_vit(**options):
    return ViT(dim=16, depth=2, heads=2, dropout=0.1, **options)


def tiny_cnn():
    return CNN(widths=(4, 4, 4, 4), feature_width=8)


def fit(module, ckpt_path=None, epochs=1):
    trainer = L.Trainer(
        accelerator="cpu",
        max_epochs=epochs,
        limit_train_batches=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    data = FERDataModule(source="drawn", drawn=Drawn(size=70), batch_size=16)
    trainer.fit(module, data, ckpt_path=ckpt_path, weights_only=True)
    return trainer


def state(net):
    return {name: value.clone() for name, value in net.state_dict().items()}


def changed(before, after):
    return {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}


class Spy(Classifier):
    """Remembers the model as it was before the first step."""

    def on_train_start(self):
        self.first = state(self.net)


@pytest.fixture(scope="module", params=[tiny_cnn, tiny_vit])
def source(request, tmp_path_factory):
    """A model and the checkpoint of its training."""
    torch.manual_seed(1)
    module = Classifier(request.param(), lr=0.01)
    path = tmp_path_factory.mktemp("source") / "best.ckpt"
    fit(module).save_checkpoint(path)
    return request.param, path, state(module.net)


def test_the_body_is_the_file_bit_by_bit_before_the_first_step(source):
    make, path, weights = source
    module = Spy(make(), transfer=Transfer(weights=str(path)))
    fresh_head = state(module.net.head)
    fit(module)
    for name, value in module.first.items():
        if name.startswith("head."):
            assert torch.equal(value, fresh_head[name.removeprefix("head.")])
        else:
            assert torch.equal(value, weights[name]), name
    (report,) = module.loaded
    assert report["loaded"] == report["wanted"] == len(weights) - 2
    assert report["missing"] == report["unexpected"] == []


def test_the_head_is_kept_if_asked_for(source):
    make, path, weights = source
    module = Spy(make(), transfer=Transfer(weights=str(path), head="keep"))
    fit(module)
    assert changed(module.first, weights) == set()


def test_a_probe_changes_the_head_only(source):
    make, path, weights = source
    module = Classifier(make(), lr=0.01, transfer=Transfer(weights=str(path), freeze="body"))
    trainer = fit(module, epochs=2)  # validation in between sets modes back
    assert changed(weights, state(module.net)) == {"head"}  # buffers of BatchNorm, too
    learning = [p for group in trainer.optimizers[0].param_groups for p in group["params"]]
    assert {id(p) for p in learning} == {id(p) for p in module.net.head.parameters()}
    module.train()
    modes = {name: m.training for name, m in module.net.named_modules() if name}
    assert {name for name, training in modes.items() if training} == {"head"}


def test_a_frozen_stem_stays_and_the_rest_learns():
    net = SmallResNet(**SIZES)
    before = state(net)
    fit(Classifier(net, lr=0.01, transfer=Transfer(freeze="stem")))
    assert changed(before, state(net)) == {"blocks", "head"}
    net = SmallResNet(**SIZES)
    before = state(net)
    fit(Classifier(net, lr=0.01, transfer=Transfer(freeze="encoder")))
    assert changed(before, state(net)) == {"stem", "head"}


def test_a_resumed_run_does_not_need_the_file(source, tmp_path):
    make, path, _ = source
    here = tmp_path / "weights.ckpt"
    here.write_bytes(path.read_bytes())
    options = {"transfer": Transfer(weights=str(here), layer_decay=0.5)}
    first = Classifier(make(), **options)
    fit(first).save_checkpoint(tmp_path / "last.ckpt")
    here.unlink()
    again = Spy(make(), **options)
    fit(again, tmp_path / "last.ckpt", epochs=2)
    assert changed(again.first, state(first.net)) == set()
    assert again.loaded is None


@pytest.mark.parametrize("part", ["stem", "encoder"])
def test_one_part_of_a_hybrid(tmp_path, part):
    source, net = (HybridViT(dim=16, depth=1, heads=2, widths=(4, 4, 4, 4)) for _ in range(2))
    torch.save(source.state_dict(), tmp_path / "a.pt")
    before = state(net)
    module = Classifier(net, transfer=Transfer(**{part: str(tmp_path / "a.pt")}))
    (report,) = module.load_pretrained()
    after, starts = state(net), net.parts[part]
    taken = {name for name in after if name.startswith(starts)}
    assert len(taken) == report["loaded"] == report["wanted"] > 0
    assert all(torch.equal(after[name], source.state_dict()[name]) for name in taken)
    assert all(torch.equal(after[name], before[name]) for name in after.keys() - taken)
    assert report["unexpected"] == []  # of the other part the model has all


def test_stem_and_encoder_from_different_files(tmp_path):
    nets = [SmallResNet(**SIZES) for _ in range(3)]
    torch.save(nets[0].stem.state_dict(), tmp_path / "stem.pt")  # the part alone
    torch.save(nets[1].state_dict(), tmp_path / "whole.pt")
    how = Transfer(stem=str(tmp_path / "stem.pt"), encoder=str(tmp_path / "whole.pt"))
    module = Classifier(nets[2], transfer=how)
    head = state(nets[2].head)
    stem, encoder = module.load_pretrained()
    assert (stem["part"], stem["loaded"], encoder["part"]) == ("stem", 6, "encoder")
    assert changed(state(nets[2].stem), state(nets[0].stem)) == set()
    assert changed(state(nets[2].blocks), state(nets[1].blocks)) == set()
    assert changed(state(nets[2].head), head) == set()
    assert module.load_pretrained() is module.loaded  # once only


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer_decay": 0.0}, r"layer_decay in \(0, 1\] but got 0.0"),
        ({"layer_decay": 1.5}, r"layer_decay in \(0, 1\] but got 1.5"),
        ({"layer_decay": float("nan")}, "layer_decay"),
        ({"stem": "a.pt"}, r"expected a part of CNN \(encoder\) but got 'stem'"),
        ({"freeze": "stem"}, r"expected a part of CNN \(encoder\) but got 'stem'"),
        ({"weights": "a.pt", "encoder": "b.pt"}, "or for its parts but got both"),
        ({"head": "keep"}, "whose head could be kept"),
    ],
)
def test_impossible_options_need_no_file(options, message):
    with pytest.raises(UserError, match=message):
        Classifier(tiny_cnn(), transfer=Transfer(**options))


def test_weights_of_another_architecture_leave_the_model_alone(source):
    make, path, _ = source
    net = tiny_vit() if make is tiny_cnn else tiny_cnn()
    before = state(net)
    module = Classifier(net, transfer=Transfer(weights=str(path)))
    expected = rf"of the body of {type(net).__name__} but \S*best.ckpt differs: \d+ missing"
    with pytest.raises(UserError, match=expected):
        fit(module)
    assert changed(before, state(net)) == set()


def test_missing_file():
    with pytest.raises(UserError, match=r"there is none at none\.pt"):
        fit(Classifier(tiny_cnn(), transfer=Transfer(weights="none.pt")))
