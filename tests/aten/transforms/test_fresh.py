"""What a transformed function makes itself may be written with what is transformed; ops with several results keep them whole.

The answers are PyTorch 2.13's, of the same programs.
"""

import pytest

import weft as torch

MADE = {
    "tensor": lambda v: torch.tensor([0.0, 1, 0, 1]),
    "as_tensor": lambda v: torch.as_tensor([0.0, 1, 0, 1]),
    "new_tensor": lambda v: v.new_tensor([0.0, 1, 0, 1]),
    "clone": lambda v: torch.tensor([0.0, 1, 0, 1]).clone(),
    "zeros_like": torch.zeros_like,
    "new_zeros": lambda v: v.new_zeros(4),
    "full": lambda v: torch.full((4,), 2.0),
}


def v():
    return torch.tensor([0.5, -1.0, 2.0, 3.0])


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_new_data_is_written_under_grad_and_jvp(made):
    def f(v):
        return made(v).add_(v * v)

    assert torch.func.grad(lambda v: f(v).sum())(v()).tolist() == [1, -2, 4, 6]
    assert torch.func.jvp(f, (v(),), (torch.ones(4),))[1].tolist() == [1, -2, 4, 6]
    twice = torch.func.grad(lambda v: (torch.func.grad(lambda w: f(w).sum())(v) * v).sum())
    assert twice(v()).tolist() == [2, -4, 8, 12]


def test_a_sum_that_begins_with_a_number():
    def f(v):
        total = torch.tensor(0.0)
        for i in range(3):
            total += v[i] ** 2
        return total

    assert torch.func.grad(f)(v()).tolist() == [1, -2, 4, 0]
    assert torch.func.grad(torch.compile(f))(v()).tolist() == [1, -2, 4, 0]
    assert torch.compile(torch.func.grad(f))(v()).tolist() == [1, -2, 4, 0]


def test_new_data_may_be_a_leaf_outside_of_the_transform():
    f = lambda v: (torch.tensor([1.0, 2, 3, 4], requires_grad=True) * v).sum()
    assert torch.func.grad(f)(v()).tolist() == [1, 2, 3, 4]
    assert torch.vmap(f)(torch.stack([v(), v()])).tolist() == [16.5, 16.5]


def test_new_data_outside_of_the_function_is_not_written():
    outside = torch.zeros(4)
    with pytest.raises(RuntimeError, match="captured Tensor"):
        torch.func.grad(lambda v: outside.add_(v).sum())(v())


@pytest.mark.parametrize("name", ["zeros_like", "new_zeros"])
def test_what_is_made_like_a_tensor_is_mapped_wherever_that_is(name):
    x = torch.arange(24.0).reshape(2, 3, 4)
    inner = torch.vmap(lambda v: MADE[name](v).copy_(v))
    assert torch.equal(torch.vmap(inner)(x), x)
    crossed = torch.vmap(lambda rows: torch.vmap(lambda v: MADE[name](v)[:2].add_(v), in_dims=1)(rows), in_dims=1)
    assert torch.equal(crossed(x), x.permute(2, 1, 0).movedim(0, 1))


SEVERAL = {
    "svd": lambda a: torch.linalg.svd(a, full_matrices=False)[1],
    "svdvals": torch.linalg.svdvals,
    "eigh": lambda a: torch.linalg.eigh(a + a.mT)[0],
    "qr": lambda a: torch.linalg.qr(a)[1],
    "slogdet": lambda a: torch.linalg.slogdet(a)[1],
    "lu_factor": lambda a: torch.linalg.lu_factor(a)[0],
    "sort": lambda a: a.sort()[0] ** 2,
    "max": lambda a: a.max(0)[0] ** 2,
    "var_mean": lambda a: torch.var_mean(a, 0)[0],
    "aminmax": lambda a: torch.aminmax(a)[1] ** 2,
    "std_mean": lambda a: torch.std_mean(a, 1)[0],
    "batch_norm": lambda a: torch.nn.functional.batch_norm(a, None, None, training=True) ** 3,
    "native_layer_norm": lambda a: torch.nn.functional.layer_norm(a, (3,)) ** 3,
}


@pytest.mark.parametrize("f", SEVERAL.values(), ids=SEVERAL)
def test_gradients_of_ops_with_several_results(f):
    a = torch.tensor([[2.0, 0.5, -0.3], [0.7, 1.5, 0.2], [-0.4, 0.1, 3.0]], dtype=torch.float64)
    leaf = a.clone().requires_grad_()
    f(leaf).sum().backward()
    assert torch.allclose(torch.func.grad(lambda a: f(a).sum())(a), leaf.grad)
    rows = torch.func.jacrev(f)(a)
    assert torch.allclose(rows.reshape(-1, 9).sum(0).reshape(3, 3), leaf.grad)
    assert torch.allclose(torch.func.jacfwd(f)(a), rows)
    assert torch.autograd.gradcheck(f, (leaf,))
