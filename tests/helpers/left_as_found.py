"""What must not change when somebody looks into a model."""

import torch

IMAGES = torch.rand(4, 1, 48, 48, generator=torch.Generator().manual_seed(0))


def snapshot(model):
    """Everything that could have changed."""
    return {
        "state": {key: value.clone() for key, value in model.state_dict().items()},
        "objects": [id(p) for p in [*model.parameters(), *model.buffers()]],
        "training": [module.training for module in model.modules()],
        "requires_grad": [p.requires_grad for p in model.parameters()],
        "no_grad": [p.grad is None for p in model.parameters()],
        "hooks": [
            len(getattr(module, name))
            for module in model.modules()
            for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
        ],
        "random": torch.random.get_rng_state(),
        "switches": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
    }


def assert_same(before, after):
    assert before.keys() == after.keys()
    for key in before.keys() - {"state", "random"}:
        assert before[key] == after[key], key
    assert before["state"].keys() == after["state"].keys()
    for key, value in before["state"].items():
        assert torch.equal(value, after["state"][key]), key
    assert torch.equal(before["random"], after["random"])
