"""The dtype of `out=`, as PyTorch 2.13 takes it: sums and products are computed in it; logcumsumexp takes no other than its own."""

import pytest

import weft

HALVES = [1.5, 2.5, -1.5]


@pytest.mark.parametrize(
    "name,dtype,expected",
    [
        ("cumsum", weft.int64, [1, 3, 2]),
        ("cumprod", weft.int8, [1, 2, -2]),
        ("cumsum", weft.float64, [1.5, 4.0, 2.5]),
        ("sum", weft.int64, 2),
        ("prod", weft.int8, -2),
        ("sum", weft.bool, True),
    ],
)
def test_what_is_written_is_computed_in_its_dtype(name, dtype, expected):
    sizes = (3,) if name.startswith("cum") else ()
    out = weft.empty(sizes, dtype=dtype)
    assert getattr(weft, name)(weft.tensor(HALVES), 0, out=out) is out
    assert out.tolist() == expected


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sum", "prod"])
def test_a_dtype_that_is_asked_for_must_be_that_of_out(name):
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        getattr(weft, name)(weft.tensor(HALVES), 0, dtype=weft.float32, out=weft.empty(3, dtype=weft.float64))


def test_logcumsumexp_takes_no_other_dtype():
    with pytest.raises(RuntimeError, match="expected scalar_type Float but found Double"):
        weft.logcumsumexp(weft.ones(3), 0, out=weft.empty(3, dtype=weft.float64))


@pytest.mark.parametrize("dtype", [weft.bool, weft.uint8, weft.int64, weft.bfloat16])
def test_draws_of_zeros_and_ones_are_written_into_any_dtype(dtype):
    out = weft.full((2, 3), 2).to(dtype)
    assert weft.bernoulli(weft.tensor([0.0, 1.0, 1.0]).expand(2, 3), out=out) is out
    assert out.tolist() == [[0, 1, 1]] * 2


def test_chances_are_floating():
    with pytest.raises(NotImplementedError, match="not implemented for 'Int'"):
        weft.bernoulli(weft.zeros(2, dtype=weft.int32))
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        weft.zeros(2).bernoulli_(weft.ones(2, dtype=weft.int64))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_in_place_are_of_the_tensors_own_dtype(name):
    within = weft.compile(lambda x: getattr(x * 1, name + "_")(0, dtype=weft.int64))
    for call in (lambda x: getattr(x, name + "_")(0, dtype=weft.float64), within):
        with pytest.raises(RuntimeError, match="Bad in-place call: input tensor dtype Float"):
            call(weft.ones(3))
    assert getattr(weft.ones(3), name + "_")(0, dtype=weft.float32).dtype is weft.float32


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_are_not_bool(name):
    call, x, truth = getattr(weft, name), weft.ones(3), weft.ones(3) > 0
    for refused in (
        lambda: call(x, 0, dtype=weft.bool),
        lambda: call(x, 0, out=weft.empty(3, dtype=weft.bool)),
        lambda: getattr(truth, name + "_")(0),
        lambda: weft.compile(lambda y: call(y, 0, dtype=weft.bool))(x),
    ):
        with pytest.raises(NotImplementedError, match=f'"{name}_out_cpu" not implemented for .Bool'):
            refused()
    assert getattr(truth[0], name + "_")(0).tolist() is True and call(x[:0], 0, dtype=weft.bool).dtype is weft.bool


@pytest.mark.parametrize("out", [weft.float32, weft.float64])
@pytest.mark.parametrize("name", ["mean", "var", "std", "logsumexp", "nansum", "nanmean"])
def test_means_of_halves_are_rounded_once(name, out):
    x = weft.arange(1, 31).reshape(3, 10).to(weft.float16) / 7
    for call in (getattr(weft, name), weft.compile(getattr(weft, name))):
        found = call(x, 1, out=weft.empty(3, dtype=out))
        assert found.dtype is out and not found.equal(found.half().to(out))
        weft.testing.assert_close(found, getattr(weft, name)(x.double(), 1).to(out), rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: weft.index_add(x, 0, weft.tensor([0]), x[:1], out=out),
        lambda x, out: weft.index_copy(x, 0, weft.tensor([0]), x[:1], out=out),
        lambda x, out: weft.scatter_reduce(x, 0, weft.zeros(2, 2, dtype=weft.int64), x, "sum", out=out),
        lambda x, out: weft.aminmax(x, dim=0, out=(x[0].clone(), out)),
        lambda x, out: weft.vdot(x[0], x[0], out=out),
        lambda x, out: weft.float_power(x, 2, out=out.float()),
        lambda x, out: weft.linalg.cholesky(x, out=out),
        lambda x, out: weft.linalg.det(x, out=out),
        lambda x, out: weft.linalg.eigh(x, out=(x[0].clone(), out)),
        lambda x, out: weft.linalg.matrix_power(x, 2, out=out),
        lambda x, out: weft.linalg.vector_norm(x, out=out),
        lambda x, out: weft.linalg.solve(x, x, out=out),
    ],
)
def test_what_is_not_cast_to_out(call):
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        call(weft.eye(2), weft.empty(0, dtype=weft.float64))


def test_the_zeroth_power_is_cast():
    assert weft.matrix_power(weft.ones(2, 2), 0, out=weft.empty(2, 2, dtype=weft.float64)).tolist() == [[1, 0], [0, 1]]
