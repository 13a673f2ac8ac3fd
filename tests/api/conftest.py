import pytest
from tiny_run import results, train

import fer_lightning as fl


@pytest.fixture(scope="session")
def faces():
    return fl.drawn_faces(140, image_size=32, difficulty=0.0)


@pytest.fixture(scope="session")
def trained(faces, tmp_path_factory):
    """A tiny model and its run."""
    model = fl.create_model("cnn", widths=(4, 4, 8, 8), feature_width=16, **faces.sizes)
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    return model, fl.train(model, faces, max_epochs=2, lr=1e-3, run_dir=folder, quiet=True)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """What `tiny_run.train` leaves when nothing happens to it."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    train(folder)
    found = results(folder)
    assert found[1] == 0, "a best score that is forgotten would not be noticed"
    return found
