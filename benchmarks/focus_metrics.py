"""How much faster LFR and LSI of many maps are than the straightforward loop over images.

    python benchmarks/focus_metrics.py

Prints one line per comparison: the median time of the loop and of ours, measured in turn in the
same run, and the median of the ratios of each turn. The targets are 20x for LFR of the six regions
of a focus table and 3x for LSI, on 10,000 maps of 48x48; LFR of one region alone stands beside
them, where reading the maps from memory takes most of the time. Results are
compared first: they are equal up to float32 rounding.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import cv2
import numpy as np
import torch
from scipy import ndimage
from torch.nn.functional import interpolate

from fer_lightning.look.metrics import local_focus_ratio, local_sensitivity_index

Run = Callable[[], np.ndarray | torch.Tensor]


def face_boxes() -> np.ndarray:
    """Boxes over EYES, EYEBROW, MOUTH, NOSE of the mean face, KEY and ALL: (6, 48, 48)."""
    masks = np.zeros((6, 48, 48), dtype=bool)
    masks[0, 16:23, 9:22] = masks[0, 16:23, 27:40] = True
    masks[1, 11:17, 8:22] = masks[1, 11:17, 27:41] = True
    masks[2, 33:43, 14:35] = True
    masks[3, 21:33, 18:31] = True
    masks[4], masks[5] = masks[:3].any(0), masks[:4].any(0)
    return masks


def smooth_maps(count: int, grid: int, seed: int = 0) -> torch.Tensor:
    """Random maps of a coarse grid, scaled up and divided by their maximum, as Grad-CAM gives."""
    coarse = torch.randn(count, 1, grid, grid, generator=torch.Generator().manual_seed(seed))
    maps = interpolate(coarse, size=(48, 48), mode="bilinear").squeeze(1).clamp(min=0)
    return maps / maps.amax((1, 2), keepdim=True).clamp(min=1e-12)


def lfr_loop(heat: np.ndarray, masks: np.ndarray) -> np.ndarray:
    return np.array([[h[m].mean() / (h[~m].mean() + 1e-8) for m in masks] for h in heat])


def label_cv2(hot: np.ndarray) -> np.ndarray:
    return cv2.connectedComponents(hot.astype(np.uint8), connectivity=8)[1]


def label_scipy(hot: np.ndarray) -> np.ndarray:
    return ndimage.label(hot, structure=np.ones((3, 3)))[0]


def lsi_loop(
    heat: np.ndarray, masks: np.ndarray, label: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    indices = []
    for h in heat:
        labels = label(h >= 0.5 * h.max())
        overlaps = []
        for mask in masks:
            touching = np.unique(labels[mask])
            active = np.isin(labels, touching[touching > 0])
            overlaps.append((active & mask).sum() / (active | mask).sum())
        indices.append(np.mean(overlaps))
    return np.array(indices)


def seconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, loop: Run, ours: Run, repeats: int, target: float | None) -> None:
    np.testing.assert_allclose(ours(), loop(), rtol=1e-4)  # also the warm-up
    turns = [(seconds(loop), seconds(ours)) for _ in range(repeats)]
    loop_time, our_time = (statistics.median(times) for times in zip(*turns, strict=True))
    ratio = statistics.median(a / b for a, b in turns)
    verdict = ""
    if target is not None:
        verdict = f"   target {target:.0f}x {'reached' if ratio >= target else 'MISSED'}"
    print(f"{name:<34}{1e3 * loop_time:9.0f} ms{1e3 * our_time:9.0f} ms{ratio:9.1f}x{verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description="LFR and LSI against loops.")
    parser.add_argument("--maps", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()

    boxes = face_boxes()
    threads = torch.get_num_threads()
    print(f"{args.maps} maps of 48x48, median of {args.repeats} turns, {threads} threads")
    print(f"{'':<34}{'loop':>12}{'ours':>12}{'ratio':>10}")
    for grid in (6, 24):
        heat = smooth_maps(args.maps, grid)
        for masks in (boxes, boxes[4:5]):
            compare(
                f"LFR, {len(masks)} region(s), grid {grid}",
                partial(lfr_loop, heat.numpy(), masks),
                partial(local_focus_ratio, heat, torch.from_numpy(masks)),
                args.repeats,
                target=20 if len(masks) == 6 else None,
            )
        for label in (label_cv2, label_scipy):
            compare(
                f"LSI, {label.__name__.replace('_', ' ')}, grid {grid}",
                partial(lsi_loop, heat.numpy(), boxes[:3], label),
                partial(local_sensitivity_index, heat, torch.from_numpy(boxes[:3])),
                args.repeats,
                target=3,
            )


if __name__ == "__main__":
    main()
