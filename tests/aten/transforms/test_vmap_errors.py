"""What vmap says of dims that do not fit, and of functions that it cannot map: PyTorch's words."""

import functools
import re

import pytest

import weft
from weft.func import vmap

X = weft.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: vmap(weft.mul, (0,))(X, X), ValueError, "vmap(mul, in_dims=(0,), ...)(<inputs>): in_dims is not compatible"),
        (lambda: vmap(weft.mul, ((0, 0), 0))(X, X), ValueError, "in_dims is not compatible with the structure of `inputs`"),
        (lambda: vmap(weft.mul, "lol")(X, X), ValueError, "expected `in_dims` to be int or a (potentially nested) tuple"),
        (lambda: vmap(weft.mul, {0: 0})(X, X), ValueError, "expected `in_dims` to be int or a (potentially nested) tuple"),
        (lambda: vmap(weft.mul, (0, "lol"))(X, X), ValueError, "Got in_dim=lol for an input but in_dim must be either an integer"),
        (lambda: vmap(weft.mul, (0, 0))(X, 2), ValueError, "Got in_dim=0 for an input but the input is of type <class 'int'>"),
        (lambda: vmap(weft.mul, (3, 0))(X, X), ValueError, "Got in_dim=3 for some input, but that input is a Tensor of dim"),
        (lambda: vmap(weft.mul)(X, weft.ones(3, 3)), ValueError, "got sizes [2, 3] for the mapped dimension"),
        (lambda: vmap(weft.mul, (None, None))(X, X), ValueError, "Expected at least one Tensor to vmap over"),
        (lambda: vmap(weft.sin)(), ValueError, "vmap(sin)(<inputs>): got no inputs"),
        (lambda: vmap(weft.sin, 0, (0, 0))(X), ValueError, "out_dims is not compatible with the structure of `outputs`"),
        (lambda: vmap(weft.sin, 0, "lol")(X), ValueError, "`out_dims` must be an int, None or a python collection of ints"),
        (lambda: vmap(weft.sin, 0, 3)(X), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 3)"),
        (lambda: vmap(weft.sin, chunk_size=0)(X), ValueError, "chunk_size should be None or greater than 0. (got 0)"),
        (lambda: vmap(lambda x: 1.0)(X), ValueError, "`<lambda>` must only return Tensors, got type <class 'float'>"),
        (lambda: vmap(lambda x: None)(X), ValueError, "`<lambda>` must only return Tensors, got type <class 'NoneType'>"),
    ],
)
def test_refused(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_a_vector_of_each_element_is_no_matrix():
    """With the dimension of the batch it looks like one."""
    for (
        name
    ) in "cholesky det slogdet eig eigh eigvals inv lu lu_factor svd svdvals qr matrix_exp solve_triangular ldl_factor".split():
        f = getattr(weft.linalg, name)
        more = {"upper": True} if name == "solve_triangular" else {}
        with pytest.raises(RuntimeError, match="dimension"):
            vmap(lambda x, f=f, more=more: f(x, x, **more) if more else f(x))(weft.eye(3))


def test_what_vmap_refuses():
    x = weft.ones(2, 3)
    for f, text in (
        (lambda a: weft.abs(a, out=weft.empty(3)), "fallback path doesn't work on out="),
        (lambda a: a.data, "accessing `data` under vmap"),
        (lambda a: a if a.sum() > 0 else -a, "data-dependent control flow"),
        (lambda a: a.data_ptr(), "Cannot access data pointer"),
        (lambda a: weft.ones(3).add_(a), "there exists a Tensor `other` in extra_args that has more elements than `self`"),
    ):
        with pytest.raises(RuntimeError, match=text):
            vmap(f)(x)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        vmap(lambda a: a.view(10), in_dims=1)(weft.ones(2, 7, 5))
    for in_dims in (([0],), ((0, 0),)):
        with pytest.raises(ValueError, match="in_dims is not compatible"):
            vmap(lambda z: z[0] + z[1], in_dims=in_dims)([x, x])
    for in_dims in ([0], None):
        with pytest.raises(ValueError, match="expected `in_dims` to be int or"):
            vmap(lambda a: a, in_dims=in_dims)(x)
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        vmap(lambda a: a, out_dims=None)(x)
    with pytest.raises(ValueError, match=r"`functools.partial\(<lambda>, ...\)` must only return Tensors"):
        vmap(functools.partial(lambda a: 1))(x)
    assert vmap(lambda a: (a, 3), out_dims=(0, None))(x)[1] == 3


def test_data_is_not_set_inside_of_vmap():
    def program(x):
        y = x.clone()
        y.data = x * 2
        return y

    with pytest.raises(RuntimeError, match="mutating directly with `.data` under vmap"):
        vmap(program)(X)
