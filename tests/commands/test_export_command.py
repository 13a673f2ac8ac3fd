"""Checkpoints as files that run without this package."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from explain_samples import FACES, listing, save_net, tiny_vit, write

from fer_lightning.commands import export
from fer_lightning.commands.checkpoints import Checkpoint
from fer_lightning.data.labels import FER_CLASSES
from fer_lightning.models import CNN, ViT, build

SMALL_CNN = {"widths": (4, 4, 4, 4)}


def answers(net, faces):
    with torch.no_grad():
        logits = net.eval()(torch.from_numpy(faces)[:, None] / 255)
    return logits.softmax(1).numpy(), logits.numpy()


@pytest.fixture
def scaled_cnn():
    torch.manual_seed(0)
    net = CNN(**SMALL_CNN).eval()
    net.set_scale(mean=[0.5], std=[0.25])
    return net


def test_torchscript_takes_bytes_and_knows_its_classes_and_scale(run, scaled_cnn):
    save_net(scaled_cnn)
    words = ("export", "--checkpoint=net.ckpt", "--format=torchscript", "--out=net.pt")
    code, out, err = run(*words)
    assert code == 0, err
    assert "uint8 (N, 1, 48, 48)" in out
    assert "Largest difference from torch on 14 drawn faces" in out
    extra = {export.METADATA: ""}
    loaded = torch.jit.load("net.pt", _extra_files=extra)
    about = json.loads(extra[export.METADATA])
    assert json.loads(about["classes"]) == list(FER_CLASSES)
    assert json.loads(about["model"])["scale"] == {"mean": [0.5], "std": [0.25]}
    for count in (1, 5):
        found = loaded(torch.from_numpy(FACES[:count])[:, None])
        for mine, theirs in zip(found, answers(scaled_cnn, FACES[:count]), strict=True):
            np.testing.assert_allclose(mine.numpy(), theirs, atol=1e-5)
    code, _, err = run(*words)
    assert code == 2
    assert "net.pt exists" in err
    assert run(*words, "--overwrite")[0] == 0


def test_onnx_takes_bytes_and_knows_its_classes_and_scale(run, scaled_cnn):
    runtime = pytest.importorskip("onnxruntime", reason="pip install 'fer-lightning[export]'")
    pytest.importorskip("onnxscript", reason="pip install 'fer-lightning[export]'")
    save_net(scaled_cnn)
    code, out, err = run("export", "--checkpoint=net.ckpt", "--format=onnx", "--out=net.onnx")
    assert code == 0, err
    assert "Largest difference" in out
    session = runtime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map
    assert json.loads(about["classes"]) == list(FER_CLASSES)
    found = session.run(["probabilities", "logits"], {"images": FACES[:3, None]})
    for mine, theirs in zip(found, answers(scaled_cnn, FACES[:3]), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


class FixedNumber(ViT):
    def forward(self, x):
        return super().forward(x.view(len(x), 1, 48, 48))  # torch's exporter fixes what len() gives


@pytest.mark.parametrize(("kind", "batch"), [(ViT, None), (FixedNumber, 1)])
def test_onnx_of_a_transformer_takes_any_number_of_images_or_says_so(kind, batch, tmp_path):
    pytest.importorskip("onnxscript", reason="pip install 'fer-lightning[export]'")
    net = tiny_vit().eval()
    net.__class__ = kind
    checkpoint = Checkpoint("net", Path("net.ckpt"), net, list(FER_CLASSES), {})
    run, found = export.to_onnx(checkpoint, tmp_path / "net.onnx")
    assert found == batch
    assert export.difference(net, run, found) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("form", ["onnx", "torchscript"])
@pytest.mark.parametrize("name", ["cnn", "vit", "swin", "hybrid_vit", "apvit"])
def test_every_model_of_faces_can_be_exported(run, name, form):
    pytest.importorskip("onnxscript", reason="pip install 'fer-lightning[export]'")
    torch.manual_seed(0)
    save_net(build(name).eval())
    file = f"net{export.FORMATS[form]}"
    code, out, err = run("export", "--checkpoint=net.ckpt", f"--format={form}", f"--out={file}")
    assert code == 0, err
    assert "1 image at a time" not in out


def test_a_file_that_answers_otherwise_is_not_kept(run, monkeypatch):
    save_net(tiny_vit())
    monkeypatch.setattr(export, "TOLERANCE", -1.0)
    words = ("export", "--checkpoint=net.ckpt", "--format=torchscript", "--out=net.pt")
    code, _, err = run(*words)
    assert code == 2
    assert "expected the exported model to answer as torch does but it differs" in err
    assert listing(".") == ["net.ckpt"]


def test_a_model_that_cannot_be_exported_says_why(run, monkeypatch):
    save_net(tiny_vit())

    def fail(*args, **ways):
        raise RuntimeError("no such operator\nand a long story")

    monkeypatch.setattr(torch.jit, "trace", fail)
    words = ("export", "--checkpoint=net.ckpt", "--format=torchscript", "--out=net.pt")
    code, _, err = run(*words)
    assert code == 2
    assert "ViT of net cannot (RuntimeError: no such operator)" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format=onnx", "--out=net.pt"], "expected a file ending in .onnx but got net.pt"),
        (["--format=torchscript", "--out=no/net.pt"], "expected a folder for no/net.pt"),
    ],
)
def test_bad_places(run, words, message):
    save_net(tiny_vit())
    code, _, err = run("export", "--checkpoint=net.ckpt", *words)
    assert code == 2
    assert message in err


def test_without_onnx_one_sentence(run, monkeypatch):
    monkeypatch.setattr(export, "find_spec", lambda name: None)
    save_net(tiny_vit())
    code, _, err = run("export", "--checkpoint=net.ckpt", "--format=onnx", "--out=net.onnx")
    assert code == 2
    assert "pip install 'fer-lightning[export]'" in err
    assert not Path("net.onnx").exists()


def test_safetensors_of_half_the_size_can_be_used_as_a_checkpoint(run, scaled_cnn):
    save_net(scaled_cnn)
    words = ("export", "--checkpoint=net.ckpt", "--format=safetensors", "--out=net.safetensors")
    code, out, err = run(*words)
    assert code == 0, err
    assert "Largest difference from torch on 14 drawn faces" in out
    assert Path("net.safetensors").stat().st_size < 0.7 * Path("net.ckpt").stat().st_size
    write("faces/a.png", FACES[0])
    code, _, err = run("explain", "--checkpoint=net.safetensors", "--images=faces", "--out=out")
    assert code == 0, err
