import pytest
import torch
from scipy import stats

from fer_lightning.look.metrics.summary import pearson, spearman


@pytest.mark.parametrize(
    ("ours", "theirs"), [(pearson, stats.pearsonr), (spearman, stats.spearmanr)]
)
def test_as_scipy(ours, theirs):
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(5, 40, generator=generator).relu()  # many ties at zero, as in heat
    b = (a + torch.randn(5, 40, generator=generator)).relu()
    expected = [
        theirs(x.double().numpy(), y.double().numpy())[0] for x, y in zip(a, b, strict=True)
    ]
    assert ours(a, b).tolist() == pytest.approx(expected)


def test_constant_rows_have_no_correlation():
    flat, sloping = torch.full((1, 7), 0.1), torch.arange(7.0)[None]
    assert pearson(flat, sloping).isnan().all()
    assert spearman(sloping, flat).isnan().all()
