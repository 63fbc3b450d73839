"""What examples of PyTorch's documentation do that weft once did not."""

import numpy as np
import pytest

import weft as torch
from weft import nn
from weft.nn import functional as F


def compiled_or_not(fn):
    return [fn, torch.compile(fn, fullgraph=True)]


def test_asarray_shares_copies_and_asks_for_gradients_as_it_is_told():
    x, a = torch.ones(2), np.ones(2)
    assert torch.asarray(x) is x and torch.asarray(x, copy=False) is x
    assert torch.asarray(x, copy=True).data_ptr() != x.data_ptr()
    torch.asarray(a)[0] = 5
    assert a[0] == 5
    torch.asarray(a, copy=True)[0] = 7
    assert a[0] == 5
    assert torch.asarray(bytearray(b"abcd"), dtype=torch.uint8).tolist() == [97, 98, 99, 100]
    assert torch.asarray([1.0, 2.0], requires_grad=True).requires_grad
    leaf = torch.ones(2, requires_grad=True)
    assert torch.asarray(leaf).requires_grad and not torch.asarray(leaf, requires_grad=False).requires_grad


def test_asarray_is_captured():
    x = torch.ones(2)

    @torch.compile(fullgraph=True)
    def f(x):
        return torch.asarray(x), torch.asarray(x, copy=True), torch.asarray([1, 2])

    shared, copied, number = f(x)
    assert shared is x and copied is not x and copied.tolist() == [1, 1] and number.tolist() == [1, 2]


def test_at_least_so_many_dims_of_nothing_is_nothing():
    assert torch.atleast_1d() == torch.atleast_2d() == torch.atleast_3d() == ()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_a_threshold_of_integers_gives_integers(dtype):
    x = torch.tensor([0, 1, 2, 3], dtype=dtype)
    for f in compiled_or_not(lambda x: F.threshold(x, 1.5, 20.7)):
        out = f(x)
        assert out.dtype is dtype and out.tolist() == [20, 20, 2, 3]


def test_the_functions_of_gradients_are_found_beside_the_functions():
    assert F.grad is nn.grad and F.grad.conv2d_input is nn.grad.conv2d_input


def test_complex_numbers_are_compared_with_the_tolerance_of_their_parts():
    x = torch.ones(2, dtype=torch.complex64)
    torch.testing.assert_close(x, x * (1 + 1e-6))
    torch.testing.assert_close(1 + 1j, 1 + 1j + 1e-9)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(x, x * (1 + 1e-3))


def test_a_custom_op_takes_arguments_by_name_only():
    @torch.library.custom_op("documented::scaled", mutates_args=())
    def scaled(x: torch.Tensor, *, factor: float) -> torch.Tensor:
        return torch.from_numpy(x.detach().numpy() * factor)

    @scaled.register_fake
    def _(x, *, factor):
        return torch.empty_like(x)

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.factor = keyword_only_inputs["factor"]

    scaled.register_autograd(lambda ctx, g: g * ctx.factor, setup_context=setup_context)
    for f in compiled_or_not(lambda x: scaled(x, factor=3.0)):
        x = torch.ones(2, requires_grad=True)
        out = f(x)
        out.sum().backward()
        assert out.tolist() == [3, 3] and x.grad.tolist() == [3, 3]


def test_a_custom_op_with_the_tag_of_writes_returns_what_it_writes():
    @torch.library.custom_op("documented::sin_", mutates_args={"x"}, tags=torch.Tag.inplace)
    def sin_(x: torch.Tensor) -> torch.Tensor:
        np.sin(x.numpy(), out=x.numpy())
        return x

    @torch.library.custom_op("documented::sin_out", mutates_args={"out"}, tags=torch.Tag.out)
    def sin_out(x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        np.sin(x.numpy(), out=out.numpy())
        return out

    x = torch.ones(2)
    expected, out = x.sin(), torch.empty(2)
    assert sin_out(x, out=out) is out and out.equal(expected)
    assert sin_(x) is x and x.equal(expected)


def test_the_order_of_dims_may_be_asked_to_be_the_only_one():
    x = torch.empty(1, 2, 3, 4)
    with pytest.raises(RuntimeError, match="unique dim order"):
        x.dim_order(ambiguity_check=True)
    assert x.dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]) == (0, 1, 2, 3)
    with pytest.raises(TypeError):
        x.dim_order(ambiguity_check="ILLEGAL")
    assert torch.empty(2, 3, 5).transpose(1, 2).dim_order(ambiguity_check=True) == (0, 2, 1)


IMAGES = {  # pattern → (lengths, sizes)
    "b h w c -> b h w c": ({}, (4, 6, 8, 3)),
    "b h w c -> (b h) w c": ({}, (24, 8, 3)),
    "b h w c -> h (b w) c": ({}, (6, 32, 3)),
    "b h w c -> b (c h w)": ({}, (4, 144)),
    "b (h1 h) (w1 w) c -> (b h1 w1) h w c": ({"h1": 2, "w1": 2}, (16, 3, 4, 3)),
    "b (h h1) (w w1) c -> b h w (c h1 w1)": ({"h1": 2, "w1": 2}, (4, 3, 4, 12)),
    "b ... c -> c b ...": ({}, (3, 4, 6, 8)),
    "b ... -> b (...)": ({}, (4, 144)),
    "b h w c -> b 1 h (w c)": ({}, (4, 1, 6, 24)),
}


@pytest.mark.parametrize("pattern", IMAGES)
def test_dims_are_rearranged_by_a_pattern(pattern):
    lengths, sizes = IMAGES[pattern]
    x = torch.arange(4 * 6 * 8 * 3).reshape(4, 6, 8, 3)
    torch.compiler.reset()  # one function, captured for each pattern
    for f in compiled_or_not(lambda x: torch.func.rearrange(x, pattern, **lengths)):
        out = f(x)
        assert tuple(out.shape) == sizes and out.sum() == x.sum()
    if pattern == "b (h1 h) (w1 w) c -> (b h1 w1) h w c":
        assert out.equal(x.reshape(4, 2, 3, 2, 4, 3).permute(0, 1, 3, 2, 4, 5).reshape(16, 3, 4, 3))


@pytest.mark.parametrize("pattern", ["a b -> a", "a b", "(a b -> a b", "a b c -> c b a", "(x y) b -> x y b", "a! b -> b a!"])
def test_a_pattern_that_does_not_go_with_the_tensor_is_an_error(pattern):
    with pytest.raises(ValueError):
        torch.func.rearrange(torch.zeros(2, 3), pattern)


def test_sparse_tensors_are_stacked_and_narrowed():
    dense = torch.tensor([[1.0, 0, 2], [0, 3, 0]])
    sparse = dense.to_sparse()
    for dim in (0, 1, 2, -1):
        assert torch.stack([sparse, sparse], dim).to_dense().equal(torch.stack([dense, dense], dim))
    assert torch.narrow_copy(sparse, 1, 1, 2).to_dense().equal(dense[:, 1:])
    assert sparse.narrow_copy(0, -1, 1).to_dense().equal(dense[1:])


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_a_product_of_a_sparse_matrix_may_take_the_mean_or_an_extreme(reduce):
    sparse = torch.tensor([[1.0, 0, 2], [0, 3, 0], [0, 0, 0]]).to_sparse_csr()
    other = torch.tensor([[0.0, 1.0], [2.0, 0.0], [4.0, -1.0]])
    rows = [torch.stack([other[0], 2 * other[2]]), 3 * other[1:2], torch.zeros(1, 2)]
    expected = torch.stack([getattr(r, reduce)(0) for r in rows])
    assert torch.sparse.mm(sparse, other, reduce).equal(expected)


def test_a_gradient_has_the_dtype_of_its_tensor_and_says_so():
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.float32
    assert x.grad_dtype is torch.float32
    for other in (torch.float16, None):
        with pytest.raises(RuntimeError, match="a gradient has the dtype of its tensor"):
            x.grad_dtype = other
    with pytest.raises(RuntimeError, match="leaf"):
        (x * 2).grad_dtype  # noqa: B018


def test_what_a_script_would_have_is_refused_by_name():
    for module in (torch.jit.script(nn.ReLU()), torch.jit.trace(nn.ReLU(), torch.ones(1))):
        with pytest.raises(AttributeError, match="weft.save"):
            module.save("m.pt")


def test_the_text_of_a_tree_names_its_named_tuples():
    from collections import namedtuple

    point = namedtuple("point", "x y")
    text = repr(torch.utils._pytree.tree_structure({"a": point(1, (2, 3))}))
    assert text.startswith("TreeSpec(dict, ['a'], [TreeSpec(namedtuple, <class") and "TreeSpec(tuple, None, [*" in text
