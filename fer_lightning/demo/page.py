"""The page itself, in gradio: pictures in, answers, maps and hide-and-see out."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from fer_lightning.commands.checkpoints import Checkpoint
from fer_lightning.data import face_finder
from fer_lightning.data.faces import drawn_faces
from fer_lightning.data.readers.pictures import MIN_SIDE, BadPictureError, decode, resize
from fer_lightning.data.regions import FACE
from fer_lightning.demo import faces, parts
from fer_lightning.demo.faces import Mask, Pixels, ShownFace
from fer_lightning.errors import UserError
from fer_lightning.look.methods import by_each, list_methods

FIRST = ("grad_cam", "gradient")  # methods that are shown unless others are chosen
MOST_FOLDER = 200  # pictures of a folder that are shown
THUMB = 96  # pixels of a picture of a folder
EXAMPLE = 64  # pixels of a drawn face: small enough to be taken as it is
BUTTONS: Any = ["download", "fullscreen"]  # gradio's "share" would send the picture away
PREDICTED = "the predicted class"
NOTHING = (
    "Choose a picture: drop one, take one with the webcam, or click one of the drawn faces below."
)
PATCH = "patch of background"
INTRO = """# What does a model say of a face, and where does it look?
Give a picture. Faces are found and cut out as the models' training faces were. Everything stays on
this machine."""
HIDE = """## Hide and see
Hide a part of the face, and the models answer again. **What a model really uses changes its answer
more than as many pixels of background do**; no map is needed to see it. Grey bars are the answers
before."""
LOOK = """## Where it looks
Each map shows which pixels speak for a class, by one method. Methods disagree; believe a map only
as far as hiding agrees with it."""


class Demo:
    """What the page's buttons do; one at a time, for looking at a model changes it for a while."""

    def __init__(self, checkpoints: Sequence[Checkpoint]) -> None:
        self.checkpoints = {one.name: one for one in checkpoints}
        self.lock = threading.Lock()

    def find(self, picture: Pixels | None, whole: bool) -> tuple[list[ShownFace], str]:
        """Cut out the faces of a picture; say in a sentence what was found."""
        if picture is None:
            return [], NOTHING
        pixels = without_equal_channels(picture)
        if min(pixels.shape[:2]) < MIN_SIDE:
            return [], f"This picture is too small: {MIN_SIDE} pixels a side are the least."
        with self.lock:
            try:
                if whole:
                    square = face_finder.cut(pixels, face_finder.whole(pixels))
                    return [faces.shown_face(square)], "Taken as one face, as you asked."
                places, shown = faces.cut_faces(pixels)
            except UserError as error:
                return [], f"No face could be looked for: {error}. Or tick the box below."
        if not shown:
            return [], "No face was found. If the picture is one face, tick the box below."
        if places[0].whole:
            return shown, "The picture is a face already and was taken as it is."
        side = places[0].side
        count = f"{len(shown)} faces were" if len(shown) > 1 else f"A face of {side} pixels was"
        return shown, f"{count} found and cut out."

    def chosen(self, names: Sequence[str]) -> list[Checkpoint]:
        """Return the chosen checkpoints in the order of the command line."""
        return [one for name, one in self.checkpoints.items() if name in names]

    def answers(self, face: ShownFace, names: Sequence[str]) -> str:
        """Draw what the chosen models say."""
        with self.lock:
            return parts.bars(faces.ask(self.chosen(names), face))

    def maps(
        self, face: ShownFace, names: Sequence[str], methods: Sequence[str], target: str
    ) -> tuple[list[tuple[Pixels, str]], str, str]:
        """Return maps with captions, the table of LFR, and a sentence on what was left out."""
        found: list[faces.Map] = []
        missing: list[str] = []
        wanted = None if target == PREDICTED else target
        with self.lock:
            for one in self.chosen(names):

                def work(name: str, one: Checkpoint = one) -> faces.Map:
                    return faces.look_at(one, face, name, wanted)

                try:
                    found += by_each(methods, work, lambda name, why: missing.append(why)).values()
                except UserError as error:
                    missing.append(str(error))
        captions = [
            f"{m.checkpoint} · {m.method} · {m.target}" + (": no heat" if m.zero else "")
            for m in found
        ]
        table = parts.focus_table(found, faces.null_focus(face), face.regions_from)
        pictures = [(m.overlay, text) for m, text in zip(found, captions, strict=True)]
        return pictures, table if found else "", " ".join(dict.fromkeys(missing))

    def hide(self, face: ShownFace, names: Sequence[str], hidden: Mask) -> tuple[Pixels, str, str]:
        """Return what the models see, their answers beside the old ones, and a sentence."""
        chosen, share = self.chosen(names), hidden.mean()
        patch = faces.background_patch(face, int(hidden.sum()))
        with self.lock:
            before, now = faces.ask(chosen, face), faces.ask(chosen, face, hidden)
            beside = faces.ask(chosen, face, patch)
        text = f"Hidden: {share:.0%} of the picture, behind the face's mean grey."
        if (patch & faces.region_mask(face, "face")).any():
            text += " The background is smaller than that: the patch beside covers some face, too."
        return faces.draw_hidden(face, hidden), parts.bars(now, before, beside), text

    def hide_region(
        self, face: ShownFace, names: Sequence[str], region: str
    ) -> tuple[Pixels, str, str]:
        """Hide a region of `FACE`, or as much background as the mouth has pixels."""
        if region == PATCH:
            hidden = faces.background_patch(face, int(faces.region_mask(face, "mouth").sum()))
        else:
            hidden = faces.region_mask(face, region)
        return self.hide(face, names, hidden)


def without_equal_channels(picture: Pixels) -> Pixels:
    """Return (H, W) where red, green and blue are equal, as files of grey pictures are read.

    >>> without_equal_channels(np.zeros((4, 5, 3), np.uint8)).shape
    (4, 5)
    """
    if picture.ndim == 3 and (picture == picture[..., :1]).all():
        return np.ascontiguousarray(picture[..., 0])
    return picture


def painted(editor: dict[str, Any] | None) -> Mask | None:
    """Return what was painted over in gradio's editor, (SHOWN, SHOWN); None where nothing was.

    >>> layer = np.zeros((112, 112, 4), np.uint8)
    >>> layer[:56, :, 3] = 255
    >>> painted({"layers": [layer]}).mean(), painted({"layers": []}), painted(None)
    (np.float64(0.5), None, None)
    """
    layers = [np.asarray(one) for one in (editor or {}).get("layers") or []]
    marks = [one[..., 3] > 0 for one in layers if one.ndim == 3 and one.shape[2] == 4]
    side = faces.SHOWN
    sized = [cv2.resize(m.astype(np.uint8), (side, side), interpolation=0) > 0 for m in marks]
    hidden = np.logical_or.reduce(sized) if sized else np.zeros((1, 1), bool)
    return hidden if hidden.any() else None


def write_examples(folder: Path) -> list[str]:
    """Draw a face of each expression; return the files."""
    drawn = drawn_faces(7, seed=3, image_size=EXAMPLE, difficulty=0.0, with_masks=False)
    files = []
    for image, label in zip(drawn.images, drawn.labels, strict=True):
        path = folder / f"drawn_{drawn.classes[label]}.png"
        path.write_bytes(cv2.imencode(".png", image[0])[1].tobytes())
        files.append(str(path))
    return sorted(files)


def read_folder(files: Sequence[str] | None) -> tuple[list[str], list[NDArray[np.uint8]], str]:
    """Return the pictures among uploaded files, small ones to choose from, and a sentence."""
    names, thumbs = [], []
    for name in sorted(files or [])[:MOST_FOLDER]:
        try:
            picture = decode(Path(name).read_bytes())
        except (BadPictureError, OSError):
            continue
        names.append(name)
        side = min(picture.shape[:2])
        thumbs.append(
            resize(face_finder.cut(picture, face_finder.whole(picture)), min(side, THUMB))
        )
    left = len(files or []) - len(names)
    more = f"; {left:,} other files are no pictures or more than {MOST_FOLDER}" if left else ""
    return names, thumbs, f"{len(names):,} pictures: click one{more}." if files else ""


def build(checkpoints: Sequence[Checkpoint], examples: Sequence[str]) -> Any:
    """Lay the page out; return gradio's blocks."""
    import gradio as gr

    demo = Demo(checkpoints)
    names = list(demo.checkpoints)
    classes = list(dict.fromkeys(name for one in checkpoints for name in one.classes))
    methods = list(dict.fromkeys([*FIRST, *list_methods()]))

    def find(picture: Pixels | None, whole: bool) -> tuple[Any, ...]:
        shown, text = demo.find(picture, whole)
        words = [f"face {i + 1}" for i in range(len(shown))]
        choice = gr.Radio(
            words, value=words[0] if words else None, visible=len(words) > 1, label="Which face?"
        )
        return shown, choice, text

    def face_of(shown: list[ShownFace], which: str | None) -> ShownFace | None:
        place = int(which.rsplit(" ", 1)[-1]) - 1 if which else 0
        return shown[place] if place < len(shown) else None

    def say(shown: list[ShownFace], which: str, chosen: list[str]) -> tuple[Any, ...]:
        face = face_of(shown, which)
        if face is None:
            return "", None, None, None, "", ""
        plain = faces.draw_hidden(face, None)
        editor = {"background": plain, "layers": [], "composite": None}
        return demo.answers(face, chosen), faces.draw_regions(face), editor, plain, "", ""

    def look(
        shown: list[ShownFace], which: str, chosen: list[str], by: list[str], target: str
    ) -> tuple[Any, ...]:
        face = face_of(shown, which)
        return ([], "", "") if face is None or not by else demo.maps(face, chosen, by, target)

    def hide(region: str) -> Any:
        def work(shown: list[ShownFace], which: str, chosen: list[str]) -> tuple[Any, ...]:
            face = face_of(shown, which)
            return (None, "", NOTHING) if face is None else demo.hide_region(face, chosen, region)

        return work

    def hide_painted(
        shown: list[ShownFace], which: str, chosen: list[str], editor: dict[str, Any] | None
    ) -> tuple[Any, ...]:
        face, hidden = face_of(shown, which), painted(editor)
        if face is None:
            return None, "", NOTHING
        if hidden is None:
            return faces.draw_hidden(face, None), "", "Nothing is painted over yet: use the brush."
        return demo.hide(face, chosen, hidden)

    def folder(files: list[str] | None) -> tuple[Any, ...]:
        found, thumbs, text = read_folder(files)
        return found, gr.Gallery(thumbs, visible=bool(thumbs)), text

    def choose(found: list[str], event: gr.SelectData) -> Any:
        return decode(Path(found[int(event.index)]).read_bytes())

    with gr.Blocks(title="fer_lightning", analytics_enabled=False) as page:
        gr.Markdown(INTRO)
        for line in faces.cautions(checkpoints):
            gr.Markdown(f"**Note:** {line}", elem_classes="caution")
        state, files = gr.State([]), gr.State([])
        with gr.Row():
            with gr.Column(scale=2, min_width=300):
                picture = gr.Image(
                    label="Picture",
                    sources=["upload", "webcam", "clipboard"],
                    format="png",
                    height=300,
                    buttons=BUTTONS,
                    elem_id="picture",
                )
                status = gr.Markdown(NOTHING, elem_id="status")
                whole = gr.Checkbox(label="The picture is one face: do not look for it")
                which = gr.Radio([], visible=False, label="Which face?", elem_id="which")
                gr.Examples(
                    [[one] for one in examples],
                    picture,
                    label="Drawn faces to try",
                    examples_per_page=7,
                )
                with gr.Accordion("A folder of pictures", open=False):
                    upload = gr.File(file_count="directory", label="Folder")
                    told = gr.Markdown()
                    gallery = gr.Gallery(
                        visible=False,
                        columns=5,
                        allow_preview=False,
                        show_label=False,
                        buttons=BUTTONS,
                    )
            with gr.Column(scale=3, min_width=420):
                gr.Markdown("## What the models say")
                chosen = gr.CheckboxGroup(names, value=names, label="Models", elem_id="models")
                answer = gr.HTML(elem_id="answers")
        gr.Markdown(HIDE)
        with gr.Row():
            with gr.Column(scale=2, min_width=300), gr.Tabs():
                with gr.Tab("Hide a region"):
                    seen = gr.Image(
                        label="What the models see",
                        interactive=False,
                        height=260,
                        format="png",
                        buttons=BUTTONS,
                    )
                    with gr.Row(elem_id="buttons"):
                        buttons = {
                            name: gr.Button(
                                f"Hide {'eyebrows' if name == 'eyebrow' else name}",
                                size="sm",
                                min_width=90,
                            )
                            for name in FACE.parts
                        }
                    buttons[PATCH] = gr.Button("Hide as much background as the mouth", size="sm")
                with gr.Tab("Paint over it"):  # drawn by WebGL: slow where there is no GPU
                    editor = gr.ImageEditor(
                        label="Paint over any part of the face",
                        sources=(),
                        transforms=(),
                        layers=False,
                        brush=gr.Brush(default_size=24, colors=["#888888"], color_mode="fixed"),
                        format="png",
                        height=360,
                        buttons=BUTTONS,
                        canvas_size=(faces.SHOWN, faces.SHOWN),
                        elem_id="editor",
                    )
                    paint = gr.Button("See what changes", variant="primary", elem_id="paint")
            with gr.Column(scale=3, min_width=420):
                hidden_text = gr.Markdown(elem_id="hidden_text")
                hidden_answer = gr.HTML(elem_id="hidden_answers")
        gr.Markdown(LOOK)
        with gr.Row():
            by = gr.Dropdown(methods, value=list(FIRST), multiselect=True, label="Methods")
            target = gr.Dropdown([PREDICTED, *classes], value=PREDICTED, label="Evidence for")
        with gr.Row():
            with gr.Column(scale=1, min_width=240):
                regions = gr.Image(
                    label="Regions",
                    interactive=False,
                    height=280,
                    format="png",
                    buttons=BUTTONS,
                    elem_id="regions",
                )
            with gr.Column(scale=3, min_width=420):
                maps = gr.Gallery(
                    label="Maps",
                    columns=4,
                    fit_columns=False,
                    height=320,
                    object_fit="contain",
                    format="png",
                    buttons=BUTTONS,
                    elem_id="maps",
                )
        missing = gr.Markdown()
        table = gr.HTML(elem_id="focus")

        ask: dict[str, Any] = {
            "fn": say,
            "inputs": [state, which, chosen],
            "outputs": [answer, regions, editor, seen, hidden_answer, hidden_text],
        }
        see: dict[str, Any] = {
            "fn": look,
            "inputs": [state, which, chosen, by, target],
            "outputs": [maps, table, missing],
        }
        quiet: dict[str, Any] = {"show_progress": "minimal", "api_visibility": "private"}
        for event in (picture.change, whole.change):
            found = event(find, [picture, whole], [state, which, status], **quiet)
            found.then(**ask, **quiet).then(**see, **quiet)
        for event in (which.input, chosen.input):
            event(**ask, **quiet).then(**see, **quiet)
        for event in (by.change, target.change):
            event(**see, **quiet)
        answers_after = [seen, hidden_answer, hidden_text]
        for name, button in buttons.items():
            button.click(hide(name), [state, which, chosen], answers_after, **quiet)
        paint.click(hide_painted, [state, which, chosen, editor], answers_after, **quiet)
        upload.change(folder, upload, [files, gallery, told], **quiet)
        gallery.select(choose, files, picture, **quiet)
    return page
