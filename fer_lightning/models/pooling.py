"""Attentive pooling (Xue et al., 2022): which patches and tokens a transformer keeps."""

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from fer_lightning.errors import UserError, nearest
from fer_lightning.models.checks import check_sizes

PatchCriterion = Literal["sum", "abs", "max", "lanet"]
TokenCriterion = Literal["sum", "abs", "max"]
PatchMode = Literal["hard", "soft"]


@dataclass(frozen=True)
class AttentivePooling:
    """How patches (before the first layer) and tokens (in the second half of the layers) go.

    The defaults drop nothing.

    Args:
        keep_patches: how many patches reach the first layer; None for all.
        keep_rate: the share of patch tokens that each layer of the second half passes on, rounded
            down; it may come to none, and [CLS] stays always.
        patch_criterion: what makes a patch strong: the sum, the sum of magnitudes or the largest
            of its channels, or a small network's opinion (``"lanet"``, which has weights).
        token_criterion: how the heads' products of [CLS]'s query and a token's key, before the
            softmax, become its strength.
        patch_mode: ``"hard"`` leaves weak patches out; ``"soft"`` multiplies each patch by its
            strength and keeps all, then `keep_patches` has no meaning and must be None.

    >>> AttentivePooling(keep_patches=160, keep_rate=0.9).patches_by_layer(196, depth=8)
    [160, 160, 160, 160, 160, 144, 129, 116, 104]
    """

    keep_patches: int | None = None
    keep_rate: float = 1.0
    patch_criterion: PatchCriterion = "abs"
    token_criterion: TokenCriterion = "sum"
    patch_mode: PatchMode = "hard"

    def check(self, patches: int, has_cls: bool) -> None:
        """Refuse what makes no sense for a model of so many patches.

        Raises:
            UserError: naming the argument.
        """
        words: tuple[tuple[str, str, tuple[str, ...]], ...] = (
            ("patch_criterion", self.patch_criterion, get_args(PatchCriterion)),
            ("token_criterion", self.token_criterion, get_args(TokenCriterion)),
            ("patch_mode", self.patch_mode, get_args(PatchMode)),
        )
        for name, word, known in words:
            if word not in known:
                raise UserError(
                    f"expected a {name} but got {word!r:.40}; {nearest(str(word), known)}"
                )
        rate = self.keep_rate
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1:
            raise UserError(
                f"expected keep_rate above 0 and at most 1 but got {rate!r:.40}; 1 keeps all tokens"
            )
        if rate < 1 and not has_cls:
            raise UserError(
                f"expected a [CLS] token, which tells strong tokens, for keep_rate {rate:g} but "
                "got a model without; set pool to cls or keep_rate to 1"
            )
        if self.keep_patches is None:
            return
        check_sizes(keep_patches=self.keep_patches)
        if self.keep_patches > patches:
            raise UserError(
                f"expected keep_patches of at most {patches}, the number of patches, but got "
                f"{self.keep_patches}; lower it"
            )
        if self.patch_mode == "soft":
            raise UserError(
                f"expected no keep_patches with soft pooling, which keeps all, but got "
                f"{self.keep_patches}; choose patch_mode hard or leave keep_patches out"
            )

    def first_layer(self, depth: int) -> int:
        """Return the index of the first layer that drops tokens: the start of the second half."""
        return depth - depth // 2

    def tokens_after(self, tokens: int) -> int:
        """Return how many of so many patch tokens a layer passes on.

        >>> AttentivePooling(keep_rate=0.6).tokens_after(1)
        0
        >>> AttentivePooling(keep_rate=0.29).tokens_after(100)  # though 0.29 * 100 < 29 in floats
        29
        """
        return math.floor(self.keep_rate * tokens + 1e-9)

    def patches_by_layer(self, patches: int, depth: int) -> list[int]:
        """Return how many patch tokens enter each layer and, last, leave the last one."""
        counts = [patches if self.keep_patches is None else self.keep_patches]
        for layer in range(depth):
            dropping = layer >= self.first_layer(depth)
            counts.append(self.tokens_after(counts[-1]) if dropping else counts[-1])
        return counts

    def deepest_layer(self, patches: int, depth: int) -> int:
        """Return the index of the deepest layer that patches enter.

        >>> AttentivePooling(keep_rate=0.4).deepest_layer(3, depth=6)
        4
        """
        counts = self.patches_by_layer(patches, depth)[:-1]
        return max(layer for layer, count in enumerate(counts) if count)

    def part_way(self, share: float, patches: int) -> "AttentivePooling":
        """Return the pooling part of the way from keeping everything (0) to this one (1).

        >>> AttentivePooling(keep_patches=160, keep_rate=0.9).part_way(0.5, patches=196)
        AttentivePooling(keep_patches=178, keep_rate=0.95, ...)
        """
        k = self.keep_patches
        return replace(
            self,
            keep_patches=None if k is None else round(patches + share * (k - patches)),
            keep_rate=1 + share * (self.keep_rate - 1) if share < 1 else self.keep_rate,
        )
