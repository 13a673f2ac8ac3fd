"""Callbacks with several methods: what looking costs, and methods that a model cannot do."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fer_lightning.errors import UserError
from fer_lightning.look.callbacks.focus import FocusCallback
from fer_lightning.look.callbacks.grad_cam import GradCAMCallback, draw_maps
from fer_lightning.look.callbacks.look import price
from fer_lightning.look.methods import by_each
from fer_lightning.look.overlay import AGAINST, FOR, draw_signed
from fer_lightning.runs.files import DEFAULT_METHODS


def test_all_looks_cost_less_than_a_tenth_of_an_epoch_of_fer2013():
    """28,710 training images: an epoch is worth 3 passes of each and one of 3,589 others."""
    context = SimpleNamespace(classes=tuple("abcdefg"))
    focus, gallery = FocusCallback(), GradCAMCallback()
    passes = focus.passes(context) + gallery.passes(context)
    assert passes == 200 * (2 + 3) + 28 * (1 + 2 + 3)
    split = SimpleNamespace(train=range(28_710), val=range(3_589))
    words = price(passes, SimpleNamespace(split=split))
    assert "1,168 forward passes" in words
    assert words.endswith("1.3 % of an epoch.")


def test_the_usual_methods_and_the_old_option():
    assert FocusCallback().methods == GradCAMCallback().methods == list(DEFAULT_METHODS)
    assert GradCAMCallback(method="occlusion_map").methods == ["occlusion"]
    with pytest.raises(UserError, match="did you mean 'grad_cam'"):
        GradCAMCallback(methods=["gradcam"])


def test_an_impossible_method_is_said_once():
    callback = FocusCallback(methods=["attention_rollout", "gradient"])

    def work(name):
        if name == "attention_rollout":
            raise UserError("no attention")
        return name

    with pytest.warns(UserWarning, match="leaves Attention rollout out: no attention"):
        by_each(callback.methods, work, callback.leave_out)
    assert callback.methods == ["gradient"]


def test_maps_without_positive_part_are_drawn_with_their_sign():
    face = np.full((1, 8, 8), 128, np.uint8)
    maps = torch.stack([torch.eye(8), -torch.eye(8), torch.zeros(8, 8)])
    drawn = draw_maps(np.stack([face] * 3), maps, "grad_cam")
    assert drawn.signed.tolist() == [False, True, False]
    assert drawn.zero.tolist() == [False, False, True]
    assert len(np.unique(drawn.overlays[2])) == 1  # the face as it is
    red, _, blue = drawn.overlays[1][2, 2]
    assert blue > red  # against the class
    left, right = draw_signed(face, np.array([[0.5, -1.0]]), size=2, opacity=1.0)[0]
    assert right.tolist() == list(AGAINST)
    halfway = [round(128 + 0.5 * (colour - 128)) for colour in FOR]
    np.testing.assert_allclose(left, halfway, atol=1)
