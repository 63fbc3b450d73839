"""`x.view(dtype)` shows the same memory, compiled as eager: writes through it and around it, results, other item sizes."""

import numpy as np
import pytest

import weft


def write_through(x):
    y = x.view(weft.int32)
    y[0] = 0
    return x * 2


def read_after_a_write(x):
    y = x.view(weft.int32)
    x.add_(1)
    return y + 0


def returned(x):
    return x.view(weft.int32)


def returned_after_a_write(x):
    y = x.view(weft.uint8)
    x[1:].mul_(2)
    return y, x.sum()


def part_of_it(x):
    y = x.view(weft.int16)[2:]
    y.zero_()
    return y


def there_and_back(x):
    y = x.view(weft.int32).view(weft.float32)
    y.neg_()
    return y, x + 1


def wider(x):
    y = x.view(weft.float64)
    y.copy_(weft.arange(y.numel(), dtype=weft.float64))
    return y * 2


def of_its_own(x):
    y = (x + 1).view(weft.int32)
    z = y.view(weft.uint8)
    z[::4] = 0
    return y, z


def rows(x):
    y = x.reshape(2, -1).view(weft.int8)
    y[1] = 1
    return y.shape[-1]


def halves(x):
    y = x.half().view(weft.bfloat16)
    y.add_(1)
    return y, y.view(weft.float16)


FUNCTIONS = [
    write_through,
    read_after_a_write,
    returned,
    returned_after_a_write,
    part_of_it,
    there_and_back,
    wider,
    of_its_own,
    rows,
    halves,
]


def as_bytes(value):
    return [
        np.ascontiguousarray(v.view(weft.uint8).numpy()).tobytes() if isinstance(v, weft.Tensor) and v.ndim else v for v in value
    ]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_memory_is_shared(function, dynamic):
    compiled = weft.compile(function, dynamic=dynamic)
    for n in (4, 4, 8):
        x, y = [weft.linspace(1, 2, n) for _ in range(2)]
        got, wanted = compiled(x), function(y)
        got, wanted = [r if isinstance(r, tuple) else (r,) for r in (got, wanted)]
        assert as_bytes((x, *got)) == as_bytes((y, *wanted))
        shared = [[isinstance(r, weft.Tensor) and r.untyped_storage().data_ptr() == t.untyped_storage().data_ptr() for r in rs]
                  for t, rs in [(x, got), (y, wanted)]]  # fmt: skip
        assert shared[0] == shared[1]


def test_eager_views_share_versions_and_have_no_history():
    x = weft.ones(4, requires_grad=True)
    assert not x.view(weft.int32).requires_grad and not x.view(weft.float16).requires_grad
    y = weft.ones(4)
    z = y.view(weft.int32)
    assert z._base is None and not z._is_view() and z[1:]._base is z  # (as what detach() gives)
    z.zero_()
    assert y._version == z._version == 1 and y.tolist() == [0, 0, 0, 0]
    w = weft.ones(4, requires_grad=True)
    product = (w * y).sum()
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: weft.ones(()).view(weft.int8), "cannot be 0"),
        (lambda: weft.ones(3, 4).t().view(weft.int8), r"self.stride\(-1\) must be 1"),
        (lambda: weft.ones(3).view(weft.float64), r"self.size\(-1\) must be divisible by 2"),
        (lambda: weft.ones(5)[1:].view(weft.float64), r"self.storage_offset\(\) must be divisible by 2"),
        (lambda: weft.ones(3, 5)[:, :4].view(weft.float64), r"self.stride\(0\) must be divisible by 2"),
    ],
)
def test_what_cannot_be_read_so_is_refused(make, message):
    with pytest.raises(RuntimeError, match=message):
        make()


def test_layouts_of_other_item_sizes():
    x = weft.arange(24, dtype=weft.float32).reshape(4, 6)[1:, 2:4]
    y = x.view(weft.int16)
    assert (y.shape, y.stride(), y.storage_offset()) == ((3, 4), (12, 1), 16)
    z = x.view(weft.complex64)
    assert (z.shape, z.stride(), z.storage_offset()) == ((3, 1), (3, 1), 4)
    assert weft.equal(z.view(weft.float32), x)
    on_meta = weft.ones(4, 6, device="meta")[1:, 2:4].view(weft.int16)
    assert (on_meta.shape, on_meta.stride(), on_meta.storage_offset()) == (y.shape, y.stride(), y.storage_offset())
    assert weft.vmap(lambda row: row.view(weft.int16))(x).tolist() == y.tolist()


def zeroed_as_ints(x, w):
    y = x * 1
    y.view(weft.int32)[1:].zero_()
    return (y * 3,)


def input_as_ints(x, w):
    x.view(weft.int32).add_(1)
    return (x * 2,)


def doubled_as_floats(x, w):
    y = x * 2
    z = y.view(weft.float32)
    z.mul_(2)
    return y, z


def as_halves(x, w):
    y = x * 2
    z = y.view(weft.bfloat16)
    z.mul_(2)
    return y, z, z.view(weft.float32)


def recorded_into_it(x, w):
    y = w * 1
    z = y.view(weft.float64)
    z.mul_(x[:2].double())
    return z, y


def recorded_into_detached(x, w):
    z = w.detach()
    z[1:].mul_(x[1:])
    return z, w * x


def recorded_around_it(x, w):
    z = w.view(weft.float32)
    w.mul_(x)
    return z, w


def what_is_asked(x, w):
    y = x.view(weft.float16)
    return y.requires_grad, (y * 2).requires_grad, x.view(dtype=weft.float64).is_leaf


WITH_HISTORY = [
    zeroed_as_ints, input_as_ints, doubled_as_floats, as_halves, recorded_into_it, recorded_into_detached, recorded_around_it,
    what_is_asked,
]  # fmt: skip


def seen(run, function, leaf):
    x, w = weft.linspace(1, 2, 4, requires_grad=True), weft.ones(4)
    given = x if leaf else x * 3
    results = run(function)(given, w)
    flags = [(r.requires_grad, r.is_leaf) if isinstance(r, weft.Tensor) else r for r in (*results, given, w)]
    recorded = [r for r in results if isinstance(r, weft.Tensor) and r.requires_grad]
    gradients = weft.autograd.grad(sum((r * r).sum() for r in recorded), [x, given], allow_unused=True) if recorded else []
    values = [r.tolist() for r in (*results, given, w) if isinstance(r, weft.Tensor)]
    return flags, values, [None if g is None else g.tolist() for g in gradients]


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("function", WITH_HISTORY, ids=lambda f: f.__name__)
def test_memory_read_in_another_dtype_is_cut_from_the_history(function, leaf):
    wanted = seen(lambda f: f, function, leaf)
    assert seen(weft.compile, function, leaf) == wanted
    assert seen(lambda f: weft.compile(f, dynamic=True), function, leaf) == wanted


def test_writes_through_it_are_not_recorded():
    x = weft.ones(4, requires_grad=True)
    for dtype in (weft.float32, weft.float64, weft.complex64, weft.bfloat16, weft.int16):
        y = x * 2
        y.view(dtype).mul_(1)
        assert y.requires_grad and weft.autograd.grad((y * y).sum(), x)[0].tolist() == [8, 8, 8, 8]
        x.view(dtype).mul_(1)  # (nor is it a view of a leaf)
    y = weft.zeros(4)
    z = y.view(weft.float64)
    z.mul_(weft.ones(2, dtype=weft.float64, requires_grad=True))
    assert z.requires_grad and not y.requires_grad
    with pytest.raises(RuntimeError, match="to view Float as Double"):
        weft.ones(3).view(weft.float64)


def test_pairs_that_begin_at_an_odd_place_are_refused_wherever_the_call_comes():
    def rotated(x):
        n, t = x.shape[-1], x.shape[1]
        f = weft.polar(weft.ones(t, n // 2), weft.outer(weft.arange(t).float(), weft.ones(n // 2)))
        pairs = weft.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return weft.view_as_real(pairs * f[:, None]).flatten(-2)

    compiled = weft.compile(rotated)
    even = [weft.randn(2, 7, 3, 8), weft.randn(1, 33, 2, 16), weft.randn(2 * 7 * 3 * 8 + 2)[2:].view(2, 7, 3, 8)]
    gaps = [weft.randn(2, 7, 3, 16)[..., ::2], weft.randn(2, 7, 8, 3).transpose(-1, -2)]
    odd = [weft.randn(33 * 2 * 16 + 1)[1:].view(1, 33, 2, 16), weft.randn(2 * 7 * 3 * 8 + 3)[3:].view(2, 7, 3, 8)]
    for x in [*even, *[x.requires_grad_() for x in even[:2]], *gaps, *odd, *even, *odd]:
        try:
            expected = rotated(x)
        except RuntimeError as e:
            with pytest.raises(RuntimeError) as refused:
                compiled(x)
            assert str(refused.value) == str(e)
        else:
            weft.testing.assert_close(compiled(x), expected)
