from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from fer_lightning.cli import main as cli
from fer_lightning.commands.faces import main, picture_format, save, sheet_figure
from fer_lightning.errors import UserError


def pixels(figure: Figure) -> np.ndarray:
    return np.asarray(figure.axes[0].images[0].get_array())


def test_saves_the_sheet_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sheet.png"
    assert main(["--out", str(out), "--per-class", "8", "--regions", "--cue"]) == 0
    assert capsys.readouterr().out == f"saved {out}\n"
    assert Image.open(out).size[0] == 1400
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.png"]


def test_the_same_options_give_the_same_picture_another_seed_another() -> None:
    first, again, other = (pixels(sheet_figure(per_class=1, seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_readme_picture_is_wide_and_small(tmp_path: Path) -> None:
    out = tmp_path / "hero.png"
    assert main(["--hero", "--out", str(out)]) == 0
    width, height = Image.open(out).size
    assert width > 1200
    assert 2.8 < width / height < 3.5
    assert out.stat().st_size < 300_000


def test_pdf_is_written_too(tmp_path: Path) -> None:
    out = tmp_path / "sheet.PDF"
    assert main(["--out", str(out), "--per-class", "1"]) == 0
    assert out.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("name", "hint"), [("a.pgn", "did you mean 'png'"), ("a", "choose one of")]
)
def test_unknown_endings_are_refused_before_anything_is_written(
    tmp_path: Path, name: str, hint: str
) -> None:
    with pytest.raises(
        UserError, match=f"expected a picture such as faces.png but got '{name}'; {hint}"
    ):
        main(["--out", str(tmp_path / name), "--per-class", "1"])
    assert not list(tmp_path.iterdir())


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for place in (file, tmp_path / "none"):
        with pytest.raises(UserError, match=f"expected a folder for .*a.png but {place} is none"):
            main(["--out", str(place / "a.png")])
    folder = tmp_path / "folder.png"
    folder.mkdir()
    with pytest.raises(UserError, match=r"expected a file to write but .*folder\.png is a folder"):
        main(["--out", str(folder)])


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / ("x" * 250 + ".png")  # with the letters of an unfinished file too long a name
    with pytest.raises(UserError, match="but got 'File name too long'; choose another file"):
        save(Figure(), out)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", ["0", "-1", "101"])
def test_too_few_or_too_many_faces(tmp_path: Path, number: str) -> None:
    with pytest.raises(UserError, match=f"expected 1 to 100 faces per class but got {number}"):
        main(["--out", str(tmp_path / "a.png"), "--per-class", number])


def test_sizes_out_of_range(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="expected image_size of the drawn faces between 32 and 512"
    ):
        main(["--out", str(tmp_path / "a.png"), "--size", "8"])


def test_on_the_command_line_a_mistake_is_one_line_and_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(["faces", "--out", str(tmp_path / "a.txt")]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: expected a picture")
    assert told.count("\n") == 1


def test_a_missing_option_is_one_sentence(capsys):
    with pytest.raises(SystemExit, match="2"):
        cli(["faces"])
    sentence = "error: expected --out but got none; see fer-lightning faces --help\n"
    assert capsys.readouterr().err == sentence


def test_an_unknown_ending_offers_what_people_use():
    with pytest.raises(UserError, match=r"choose one of png, jpg, webp, pdf, svg$"):
        picture_format(Path("faces.xyz"))
