import pytest
import torch
from torch.nn.functional import interpolate

SIZE = 48


@pytest.fixture
def heat() -> torch.Tensor:
    """60 smooth maps with a maximum of 1, three of them all zero."""
    coarse = torch.randn(60, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    maps = interpolate(coarse, size=(SIZE, SIZE), mode="bilinear").squeeze(1).clamp(min=0)
    maps = maps / maps.amax((1, 2), keepdim=True)
    maps[[4, 17, 59]] = 0
    return maps


@pytest.fixture
def regions() -> torch.Tensor:
    """Boxes over eyes, eyebrows and mouth of the mean face, (3, 48, 48)."""
    masks = torch.zeros(3, SIZE, SIZE, dtype=torch.bool)
    masks[0, 16:23, 9:22] = masks[0, 16:23, 27:40] = True
    masks[1, 11:17, 8:22] = masks[1, 11:17, 27:41] = True
    masks[2, 33:43, 14:35] = True
    return masks


@pytest.fixture
def own_regions(regions: torch.Tensor) -> torch.Tensor:
    """The same three regions, moved a little for each of 60 images, (60, 3, 48, 48)."""
    return torch.stack([regions.roll((i % 5, i % 7), (1, 2)) for i in range(60)])
