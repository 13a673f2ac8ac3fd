from collections.abc import Callable, Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text


@pytest.fixture(autouse=True)
def _leaves_no_trace() -> Iterator[None]:
    """No figure is registered in pyplot, no setting of the reader's is changed."""
    before = dict(mpl.rcParams)
    yield
    assert plt.get_fignums() == []
    assert dict(mpl.rcParams) == before


@pytest.fixture
def complete() -> Callable[[Figure], None]:
    """Lay out a figure and assert that nothing is cut off at its border."""

    def check(figure: Figure) -> None:
        figure.draw_without_rendering()  # puts all into its place
        box = figure.get_tightbbox()  # of all that would be drawn, in inches
        width, height = figure.get_size_inches()
        assert min(box.x0, box.y0) > -0.01
        assert box.x1 < width + 0.01
        assert box.y1 < height + 0.01

    return check


@pytest.fixture
def texts() -> Callable[[Figure], list[str]]:
    """All words of a figure."""
    return lambda figure: [text.get_text() for text in figure.findobj(Text) if text.get_text()]
