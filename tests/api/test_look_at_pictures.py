"""``look``: maps, tables with null rows, figures."""

import numpy as np
import pytest
import torch

import fer_lightning as fl
from fer_lightning.errors import UserError
from fer_lightning.look.methods import METHODS


@pytest.fixture(scope="module")
def found(trained, faces):
    model, _ = trained
    return fl.look(model, faces.test[:4], methods=["grad_cam", "occlusion_map"])


def test_maps(found):
    assert found.methods == ["grad_cam", "occlusion"]  # by their names of today
    assert all(maps.shape == (4, 32, 32) for maps in found.maps.values())
    assert all((maps >= 0).all() for maps in found.maps.values())


def test_table_has_null_rows_methods_and_regions(found):
    table = found.table()
    assert set(table["method"]) == {"grad_cam", "occlusion"}
    assert {"model", "uniform", "mean_map", "untrained"} <= set(table["source"])
    assert set(table["region"]) == {"eyes", "mouth", "eyebrow", "nose", "key", "all"}
    assert set(table["resolution"]) == {"native"}
    assert set(table["masks"]) == {"given"}
    uniform = table[table["source"] == "uniform"]
    assert np.allclose(uniform["lfr_mean"], 1)
    assert len(found.table(resolution=None, masks=None)) > 4 * len(table)


def test_tables_of_single_pictures_and_of_hiding(found, faces):
    samples = found.samples()
    native = samples[(samples["method"] == "grad_cam") & (samples["resolution"] == "native")]
    assert native["row"].tolist() == faces.test.rows[:4].tolist()
    for i, lfr in enumerate(native["lfr_key"]):
        assert found.lfr(i, "grad_cam") == pytest.approx(lfr, nan_ok=True)
    assert len(found.hiding())


def test_figure(found, faces):
    figure = found.show(1)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[0] == "picture"
    assert [title.split("\n")[0] for title in titles[1:]] == ["Grad-CAM", "Occlusion"]
    assert "LFR KEY" in titles[2] or "no heat" in titles[2]
    assert figure.get_suptitle().startswith(faces.classes[faces.test.labels[1]])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["eyes", "mouth", "eyebrow", "nose", "face"]
    assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(UserError, match="one of 4 images"):
        found.show(4)


def test_the_model_is_left_as_it_was(trained, faces):
    model, _ = trained
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    model.train()
    fl.look(model, faces.test[:2])
    assert model.training
    model.eval()
    assert all(torch.equal(w, before[name]) for name, w in model.state_dict().items())


def test_data_without_regions_have_maps_and_a_reason():
    rng = np.random.default_rng(0)
    data = fl.load_data(rng.integers(0, 256, (40, 16, 16), np.uint8), np.arange(40) % 2)
    model = fl.create_model("cnn", widths=(4, 4, 4, 4), **data.sizes)
    found = fl.look(model, data.test)
    assert found.maps["grad_cam"].shape == (4, 16, 16)
    with pytest.raises(UserError, match="data set with regions but arrays has none"):
        found.table()
    assert found.show(0).axes[0].get_title() == "picture"


def test_pictures_without_the_primary_region_are_left_out_of_the_numbers():
    rng = np.random.default_rng(0)
    mask = np.zeros((40, 16, 16), bool)
    mask[::2, 4:8, 4:8] = True
    pictures = rng.integers(0, 256, (40, 16, 16), np.uint8)
    data = fl.load_data(pictures, np.arange(40) % 2, masks={"lesion": mask})
    model = fl.create_model("cnn", widths=(4, 4, 4, 4), **data.sizes)
    found = fl.look(model, data.train[:10])
    assert found.measured.tolist() == np.flatnonzero(data.train.rows[:10] % 2 == 0).tolist()
    assert found.maps["grad_cam"].any(axis=(1, 2)).sum() > len(found.measured)
    assert set(found.table()["n"]) == {len(found.measured)}
    odd = int(np.flatnonzero(data.train.rows[:10] % 2)[0])
    assert found.lfr(odd, "grad_cam") is None


def test_a_method_of_ones_own(trained, faces):
    @fl.register_method("brightness", title="Brightness", knows_class=False)
    def brightness(model, images, target, batch_size):
        return images.mean(1)

    try:
        assert "brightness" in fl.list_methods()
        found = fl.look(trained[0], faces.test[:2], methods=["brightness"])
        assert set(found.table()["method"]) == {"brightness"}
        pixels = faces.test[:2].images[:, 0]
        expected = pixels / pixels.max((1, 2), keepdims=True)  # heat: by its own maximum
        assert np.allclose(found.maps["brightness"], expected, atol=1e-6)
        assert found.show(0).axes[1].get_title().startswith("Brightness")
    finally:
        METHODS.pop("brightness")


@pytest.mark.parametrize(
    ("methods", "message"),
    [(["grad_camm"], "did you mean 'grad_cam'"), (["attention_rollout"], "global attention")],
)
def test_impossible_methods(trained, faces, methods, message):
    with pytest.raises(UserError, match=message):
        fl.look(trained[0], faces.test[:2], methods=methods)


def test_no_pictures(trained, faces):
    with pytest.raises(UserError, match=r"data.test\[:200\]"):
        fl.look(trained[0], faces)
