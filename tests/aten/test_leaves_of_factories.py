"""`requires_grad=True` of factories: leaves, made without Python, with the numbers and errors of those without it."""

import pytest

import weft as torch
from tests.aten.test_replay import entries

FACTORIES = {
    "zeros": lambda **k: torch.zeros(3, 2, **k),
    "ones": lambda **k: torch.ones((3,), dtype=torch.float64, **k),
    "full": lambda **k: torch.full((2, 2), 1.5, **k),
    "empty": lambda **k: torch.empty(0, 3, **k),
    "rand": lambda **k: torch.rand(5, **k),
    "randn": lambda **k: torch.randn(2, 3, **k),
    "arange": lambda **k: torch.arange(4.0, **k),
    "linspace": lambda **k: torch.linspace(0, 1, 5, **k),
    "eye": lambda **k: torch.eye(3, dtype=torch.complex64, **k),
    "zeros_like": lambda **k: torch.zeros_like(torch.ones(2), **k),
    "new_ones": lambda **k: torch.ones(2).new_ones((2,), **k),
    "hann_window": lambda **k: torch.hann_window(4, **k),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_a_leaf_has_the_numbers_of_the_plain_tensor(name):
    torch.manual_seed(3)
    plain = FACTORIES[name]()
    torch.manual_seed(3)
    for _ in range(8):  # known calls are replayed
        leaf = FACTORIES[name](requires_grad=True)
        assert leaf.requires_grad and leaf.is_leaf and leaf.grad_fn is None and not leaf._is_view()
    torch.manual_seed(3)
    assert torch.equal(FACTORIES[name](requires_grad=True).detach(), plain)
    assert not FACTORIES[name](requires_grad=False).requires_grad


def test_a_leaf_is_made_without_python():
    for name in FACTORIES:
        for _ in range(8):
            FACTORIES[name](requires_grad=True)
        assert not entries(lambda name=name: FACTORIES[name](requires_grad=True)), name


def test_what_requires_grad_refuses():
    with pytest.raises(RuntimeError, match="floating point and complex"):
        torch.zeros(3, dtype=torch.int64, requires_grad=True)
    with pytest.raises(TypeError, match="requires_grad"):
        torch.zeros(3, requires_grad=1)
    with pytest.raises(TypeError, match="requires_grad"):
        torch.ones(3).exp(requires_grad=True)
    with torch.no_grad():
        assert torch.zeros(3, requires_grad=True).requires_grad
    with torch.inference_mode():
        assert torch.zeros(3, requires_grad=True).requires_grad
