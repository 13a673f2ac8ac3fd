import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from fer_lightning.commands.focus import _folder
from fer_lightning.data.datamodule import Drawn, FERDataModule
from fer_lightning.data.splits import probe_rows
from fer_lightning.errors import UserError
from fer_lightning.look.focus import hide_sample
from fer_lightning.models import CNN, ViT
from fer_lightning.models.shipped_weights import shipped
from fer_lightning.training.checkpoint import describe_run

FILES = ["focus.csv", "focus_samples.csv", "hiding.csv", "randomisation.csv"]
CHECKPOINT = Path("runs/hand/checkpoints/best.ckpt")


def read_csv(path):
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def write_run(data, net, section):
    """Leave what the command reads of a run folder, without training."""
    CHECKPOINT.parent.mkdir(parents=True)
    Path("runs/hand/config.yaml").write_text(yaml.safe_dump({"data": section}))
    Path("runs/hand/split.json").write_text(json.dumps(data.manifest()))
    checkpoint = {"state_dict": {f"net.{k}": v for k, v in net.state_dict().items()}}
    describe_run(checkpoint, net, data)
    torch.save(checkpoint, CHECKPOINT)


@pytest.fixture
def net():
    torch.manual_seed(0)
    return ViT(dim=16, depth=1, heads=2)


@pytest.fixture
def hand(run, net):
    """A run folder of 140 drawn faces; 14 of them are for test."""
    data = FERDataModule(source="drawn", drawn=Drawn(size=140))
    section = {"source": "drawn", "drawn": {"size": 140, "cue": "none"}, "split": "ratio"}
    section |= {"augmentation": {"flip": 0.5}, "files": {"on_corrupt": "error"}, "split_seed": 0}
    write_run(data, net, section)
    return data


@pytest.fixture
def focus(run, hand):
    return lambda *options: run("focus", "--checkpoint", CHECKPOINT, *options)


def test_one_command_gives_all_files(focus, hand):
    code, out, err = focus("--n=8")
    assert code == 0, err
    folder = Path("runs/hand/controls")
    assert sorted(p.name for p in folder.iterdir()) == FILES
    rows = read_csv(folder / "focus.csv")
    assert len(rows) == 2 * 10 * 2 * 4 * 6
    assert {row["method"] for row in rows} == {"grad_cam", "gradient"}
    assert {row["n"] for row in rows if row["masks"] == "given"} == {"8"}
    chosen = [int(row["row"]) for row in read_csv(folder / "focus_samples.csv")[:16:2]]
    expected = probe_rows(hand.split.test, 8, 0, hand.image_set.fingerprint)
    np.testing.assert_array_equal(chosen, expected)
    for text in ("8 of 14 test images", "drawn faces instead of FER-2013", "exact masks", "KEY"):
        assert text in out


def test_several_methods_with_maps_alone_hide_once(focus, monkeypatch):
    """Own maps and hiding only; hiding does not depend on the method, its correlation does."""
    command = "fer_lightning.commands.focus.hide_sample"
    calls = []
    monkeypatch.setattr(command, lambda *args: calls.append(args) or hide_sample(*args))
    options = ("--n=6", "--controls=maps")
    code, out, err = focus(*options, "--method", "gradient,attention_rollout", "grad_cam")
    assert code == 0, err
    assert len(calls) == 1
    folder = Path("runs/hand/controls")
    assert sorted(p.name for p in folder.iterdir()) == FILES[:3]
    rows = read_csv(folder / "focus.csv")
    assert [row["method"] for row in rows[::12]] == ["gradient", "attention_rollout", "grad_cam"]
    assert {(row["source"], row["masks"]) for row in rows} == {("model", "given")}
    hidden = read_csv(folder / "hiding.csv")
    first, second = ([r for r in hidden if r["method"] == m] for m in ("gradient", "grad_cam"))
    assert [r["logit_drop"] for r in first] == [r["logit_drop"] for r in second]
    assert first[0]["spearman"] != second[0]["spearman"]
    assert "without looking" not in out  # there is nothing to compare with
    # all controls of one of them, later, leave the others alone; less removes what is then missing
    assert focus("--n=6", "--method=gradient")[0] == 0
    rows = read_csv(folder / "focus.csv")
    assert len(rows) == 2 * 12 + 10 * 2 * 4 * 6
    assert {row["method"] for row in read_csv(folder / "randomisation.csv")} == {"gradient"}
    assert focus(*options, "--method=gradient")[0] == 0
    assert not (folder / "randomisation.csv").exists()


def test_the_same_numbers_alone_and_in_a_list(focus):
    assert focus("--n=4", "--out=both", "--controls=maps")[0] == 0
    assert focus("--n=4", "--out=alone", "--controls=maps", "--method=gradient")[0] == 0
    for name in FILES[:3]:
        both = [row for row in read_csv(f"both/{name}") if row["method"] == "gradient"]
        assert both == read_csv(f"alone/{name}")


def test_a_method_that_the_model_cannot_do(run):
    """In a list it is left out and said once; alone it is an error."""
    torch.manual_seed(0)
    data = FERDataModule(source="drawn", drawn=Drawn(size=140))
    section = {"source": "drawn", "drawn": {"size": 140}, "split": "ratio", "split_seed": 0}
    write_run(data, CNN(widths=(4, 4, 4, 4)), section)
    options = ("focus", "--checkpoint", CHECKPOINT, "--n=4", "--controls=maps", "--method")
    code, out, err = run(*options, "attention_rollout", "gradient")
    assert code == 0, err
    assert out.count("Attention rollout is left out: expected") == 1
    assert {row["method"] for row in read_csv("runs/hand/controls/focus.csv")} == {"gradient"}
    noted = json.loads(Path("runs/hand/controls/left_out.json").read_text())
    assert list(noted) == ["attention_rollout"]
    code, _, err = run(*options, "attention_rollout")
    assert code == 2
    assert "global attention" in err
    code, _, err = run(*options, "attention_rollout", "attention_relevance")
    assert code == 2


@pytest.mark.slow  # trains with all callbacks
def test_after_fit_one_command_gives_all_files(fit, run):
    fit("--run_name=first")
    code, out, err = run(
        "focus", "--checkpoint", "runs/first/checkpoints/best.ckpt", "--n=20", "--method=grad_cam"
    )
    assert code == 0, err
    folder = Path("runs/first/controls")
    assert sorted(p.name for p in folder.iterdir()) == FILES
    samples = read_csv(folder / "focus_samples.csv")
    test = json.loads(Path("runs/first/split.json").read_text())["test"]
    chosen = [int(row["row"]) for row in samples[::2]]
    fingerprint = json.loads(Path("runs/first/run.json").read_text())["fingerprint"]
    np.testing.assert_array_equal(chosen, probe_rows(np.array(test), 20, 0, fingerprint))
    # predictions of the same images after fit
    saved = np.load("runs/first/predictions.npz")
    answers = dict(zip(saved["row"].tolist(), saved["logits"].argmax(1), strict=True))
    right = dict(zip(saved["row"].tolist(), saved["label"], strict=True))
    expected = [int(answers[row] == right[row]) for row in chosen]
    assert [int(row["correct"]) for row in samples[::2]] == expected
    assert "20 of 28 test images" in out


def test_the_table_agrees_with_the_samples(focus):
    code, _, err = focus("--method=grad_cam")
    assert code == 0, err
    samples = read_csv("runs/hand/controls/focus_samples.csv")[::2]  # at native resolution
    assert len(samples) == 14
    wanted = {"source": "model", "resolution": "native", "masks": "given", "region": "mouth"}
    (row,) = [r for r in read_csv("runs/hand/controls/focus.csv") if wanted.items() <= r.items()]
    values = np.array([float(s["lfr_mouth"]) for s in samples])
    assert float(row["lfr_mean"]) == pytest.approx(np.nanmean(values), rel=1e-4)
    assert float(row["lfr_median"]) == pytest.approx(np.nanmedian(values), rel=1e-4)
    assert int(row["zero_maps"]) == np.isnan(values).sum()


def test_same_seed_same_files_other_seed_other_images(focus):
    for out, seed in (("a", 0), ("b", 0), ("c", 1)):
        assert focus("--n=4", f"--out={out}", f"--seed={seed}")[0] == 0
    for name in FILES:
        assert Path("a", name).read_text() == Path("b", name).read_text()
    a, c = ({r["row"] for r in read_csv(f"{x}/focus_samples.csv")} for x in "ac")
    assert a != c


def test_template_masks_are_told_and_cannot_be_shuffled(focus):
    code, out, _ = focus("--masks=template", "--n=4", "--target=true", "--method=hires_cam")
    assert code == 0
    assert "one template of masks on the mean face" in out
    assert "cannot be shuffled" in out
    assert "shuffled" not in {row["masks"] for row in read_csv("runs/hand/controls/focus.csv")}


def test_the_validation_part(focus, hand):
    assert focus("--part=val", "--n=3", "--method=attention_rollout")[0] == 0
    rows = {int(row["row"]) for row in read_csv("runs/hand/controls/focus_samples.csv")}
    assert rows <= set(hand.split.val.tolist())


def test_another_data_set_is_refused(focus):
    Path("runs/hand/config.yaml").write_text(
        yaml.safe_dump({"data": {"source": "drawn", "drawn": {"size": 147}}})
    )
    code, _, err = focus()
    assert code == 2
    assert "expected the data set that the checkpoint was trained on (drawn faces, " in err
    assert "--data_dir" in err
    assert err.count("\n") == 1


def test_a_data_dir_replaces_that_of_the_config(focus):
    Path("faces.csv").write_text("emotion,pixels\n" + "3," + " ".join(["7"] * 2304) + "\n")
    code, _, err = focus("--data_dir=faces.csv")
    assert code == 2
    assert "expected the data set that the checkpoint was trained on" in err
    assert not Path("runs/hand/controls").exists()


def test_no_checkpoint(run):
    code, _, err = run("focus", "--checkpoint", "nowhere.ckpt")
    assert code == 2
    assert "expected a checkpoint but found no file nowhere.ckpt" in err


def test_a_checkpoint_alone(focus):
    Path("runs/hand/config.yaml").unlink()
    code, _, err = focus()
    assert code == 2
    assert "expected the config.yaml of a run beside" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data: [unclosed", "could not read the data options"),
        ("model: {}", "could not read the data options"),
        ("data: {drawn: {petals: 3}}", "petals"),
        ("data: {no_such: 1}", "no_such"),
        ("data: {fraction: 7}", "expected a fraction"),
        ("data: {augmentation: {rotation: 999}}", "expected rotation between"),
    ],
)
def test_a_damaged_config(focus, text, message):
    Path("runs/hand/config.yaml").write_text(text)
    code, _, err = focus()
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_nan_in_the_weights(run, hand, net):
    checkpoint = torch.load(CHECKPOINT, weights_only=True)
    checkpoint["state_dict"]["net.head.weight"][0] = torch.nan
    torch.save(checkpoint, CHECKPOINT)
    code, _, err = run("focus", "--checkpoint", CHECKPOINT, "--n=4")
    assert code == 2
    assert "NaN" in err


def test_exact_masks_where_there_are_none(run, net):
    pixels = np.random.default_rng(0).integers(0, 256, (70, 2304))
    lines = [f"{i % 7},{' '.join(map(str, row))}" for i, row in enumerate(pixels)]
    Path("faces.csv").write_text("\n".join(["emotion,pixels", *lines]))
    data = FERDataModule(data_dir="faces.csv")
    write_run(data, net, {"data_dir": "faces.csv"})
    code, _, err = run("focus", "--checkpoint", CHECKPOINT, "--masks=exact")
    assert code == 2
    assert "expected exact region masks" in err
    code, out, _ = run("focus", "--checkpoint", CHECKPOINT, "--n=3")
    assert code == 0
    assert "one template of masks" in out
    assert "drawn" not in out


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--n=0", "at least 1 image"),
        ("--grid=0", "at least 1x1 cells"),
        ("--batch_size=0", "batch_size of at least 1"),
        ("--landmarks=none.json", "no file at none.json"),
        ("--out=runs/hand/config.yaml", "choose another --out"),
    ],
)
def test_options_that_cannot_be(focus, option, message):
    code, _, err = focus("--n=3", option)
    assert code == 2
    assert message in err


def test_a_run_folder_stands_for_its_best_checkpoint(run, hand):
    code, _, err = run("focus", "--checkpoint=runs/hand", "--n=8", "--controls=maps")
    assert code == 0, err
    assert Path("runs/hand/controls/focus.csv").is_file()


def test_a_shipped_model_says_that_it_needs_its_data(run):
    code, _, err = run("focus", "--checkpoint=flagship")
    assert code == 2
    assert "expected the data that flagship was trained on" in err
    assert "--data_dir" in err


def test_maps_without_any_heat_are_one_sentence(run):
    data = FERDataModule(source="drawn", drawn=Drawn(size=140))
    section = {"source": "drawn", "drawn": {"size": 140}, "split": "ratio", "split_seed": 0}
    net = CNN(widths=(4, 4, 4, 4))
    for weights in net.parameters():
        torch.nn.init.zeros_(weights)
    write_run(data, net, section)
    code, out, err = run("focus", "--checkpoint=runs/hand", "--n=4", "--method=grad_cam")
    assert code == 0, err
    assert "Maps: Grad-CAM\nKEY has no LFR: every map is zero.\n" in out
    assert "±" not in out
    assert Path("runs/hand/controls/randomisation.csv").is_file()


def test_nothing_is_written_beside_shipped_weights():
    with pytest.raises(UserError, match="expected --out for flagship"):
        _folder(None, shipped()["flagship"])
