import pytest
from tiny_run import results, train
from write_faults import Writes, weights


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """What a run leaves when nothing happens to it, and how often it writes."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    with Writes(folder) as writes:
        train(folder)
    return results(folder), weights(folder), writes.count
