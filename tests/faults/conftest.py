import pytest
from file_systems import another
from tiny_run import results, train
from write_faults import Writes, weights


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """What a run leaves when nothing happens to it, and how often it writes."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    with Writes(folder) as writes:
        train(folder)
    return results(folder), weights(folder), writes.count


@pytest.fixture(params=["same", "other"])
def place(request, tmp_path):
    """A folder on the temporary folder's file system, and one on another."""
    if request.param == "same":
        yield tmp_path
        return
    with another(tmp_path) as folder:
        assert folder.stat().st_dev != tmp_path.stat().st_dev
        yield folder
