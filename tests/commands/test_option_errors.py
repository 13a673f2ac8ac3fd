"""What is wrong with an option of ``fit`` is one sentence that helps."""

import sys

import pytest

MODULE = "from fer_lightning.models import CNN\n\n\nclass MyNet(CNN):\n    pass\n"


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (
            "--data.fractoin=0.3",
            "expected an option but got '--data.fractoin'; did you mean '--data.fraction'?",
        ),
        ("--qqqq", "expected an option but got '--qqqq'; --help lists all"),
        ("--data.fraction=abc", "expected a number for data.fraction but got 'abc'"),
        (
            "--trainer.max_epochs=x",
            "expected a whole number or null for trainer.max_epochs but got 'x'",
        ),
        (
            "--model.net=own_nets.MyNett",
            "expected a model but own_nets has no MyNett; did you mean 'MyNet'?",
        ),
        (
            "--model.net=no_nets.MyNet",
            "expected a model but there is no module no_nets; name one that lies in this folder "
            "or is installed",
        ),
        (
            "--model.net.dpth=3",
            "expected an argument of ViT but got 'dpth'; did you mean 'depth'?",
        ),
    ],
)
def test_mistakes(run, tmp_path, monkeypatch, option, sentence):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_nets", raising=False)
    (tmp_path / "own_nets.py").write_text(MODULE)
    code, _, err = run("fit", "--config", "vit", option)
    assert (code, err) == (2, f"error: {sentence}\n")
