"""dynamic=True: numbers are symbols from the first call on, but for 0 and 1."""

import random

import pytest

import dynamo
import weft
from dynamo.testing import CompileCounter


def test_numbers_are_symbols_at_once():
    counter = CompileCounter()
    compiled = weft.compile(lambda x, n: x * n + n, backend=counter, dynamic=True)
    for n in (4, 20, 7):
        assert compiled(weft.ones(3), n).tolist() == [2 * n] * 3
    assert counter.frame_count == 1
    for n in (0, 1):
        assert compiled(weft.ones(3), n).tolist() == [2 * n] * 3


def test_sizes_of_parameters_and_buffers_stay_numbers():
    class Norm(weft.nn.Module):
        def __init__(self, n):
            super().__init__()
            self.weight = weft.nn.Parameter(weft.ones(n))
            self.register_buffer("mean", weft.zeros(n))

        def forward(self, x):
            return (x - self.mean) * self.weight

    function = lambda module, x: module(x)
    for setting, count in ((True, 3), (False, 2)):
        dynamo.reset()
        counter = CompileCounter()
        compiled = weft.compile(function, backend=counter)
        names = ("force_parameter_static_shapes", "force_nn_module_property_static_shapes")
        with dynamo.config.patch(dict.fromkeys(names, setting)):
            for n in (2, 3, 4):
                assert compiled(Norm(n), weft.ones(5, n)).shape == (5, n)
        assert counter.frame_count == count


def test_sizes_of_which_nothing_is_assumed():
    counter = CompileCounter()
    compiled = weft.compile(lambda x: x * 2, backend=counter)
    for n in (3, 1, 0, 5):
        x = weft.ones(n, 2)
        dynamo.mark_unbacked(x, 0)
        assert weft.equal(compiled(x), x * 2)
    assert counter.frame_count == 1


def unused_text(x):
    text = f"{x.shape[0]}"  # noqa: F841
    return x.sin()


def returned_text(x):
    text = f"{x.shape[0]:04d} of {x.shape}"
    return x.sin(), (text, f"{x.shape[0]!r}")


def text_of_an_error(x):
    assert x.shape[0] < 100, f"too large: {x.shape}"
    return x * 2


@pytest.mark.parametrize("function", [unused_text, returned_text, text_of_an_error])
def test_the_text_of_a_size_that_is_not_looked_at_compiles_once(function):
    counter = CompileCounter()
    compiled = weft.compile(function, backend=counter, dynamic=True)
    for n in (3, 4, 5, 12, 7):
        assert str(compiled(weft.ones(n, 2))) == str(function(weft.ones(n, 2)))
    assert counter.frame_count == 1


def test_the_text_of_a_size_that_is_looked_at_is_guarded():
    def f(x, y):
        name = f"{x.shape[0]}"
        named = {f"k{x.shape[0]}": x + len(name)}
        return named, name + "z", name == "3", name.zfill(4), "-".join([name]), f"{y:.2f}", isinstance(name, str), hash(name)

    compiled = weft.compile(f, backend="eager", dynamic=True)
    for n, y in ((3, 1.5), (4, 2.5), (12, -0.0), (3, 1e20)):
        assert str(compiled(weft.ones(n, 2), y)) == str(f(weft.ones(n, 2), y))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize(
    "numbers", [(2, 3, -5, 2**40, 2**61, -(2**70), 2**63, 4), (2, 3, 2**62, 2**63 - 1, 2**70), (-2, -3, -(2**62) - 5, -(2**63))]
)
def test_numbers_beyond_64_bits_are_no_symbols(backend, numbers):
    def f(x, n, told):
        told.append(n)
        return x * n, n * n, n + 1

    compiled = weft.compile(f, backend=backend)
    for n in numbers:
        seen = []
        for call in (f, compiled):
            told = []
            try:
                x, *rest = call(weft.arange(3), n, told)
                seen.append((x.tolist(), rest, told))
            except OverflowError as e:
                seen.append((str(e), told))
        assert seen[0] == seen[1], n


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_range_of_half_steps_counts_whole_numbers(backend):
    def f(x, n):
        return weft.arange(0, n, 0.5) + x, weft.arange(0.0, n), weft.arange(n, 0, -0.25)

    compiled = weft.compile(f, backend=backend, dynamic=True)
    for n in (4, 5, 7):
        for wanted, got in zip(f(weft.ones(1), n), compiled(weft.ones(1), n)):
            assert wanted.tolist() == got.tolist()


def drawn_and_used(x):
    x = x + 1
    return x * random.randint(2, 50) + random.random()


def drawn_and_asked(x):
    n = random.randint(1, 6)
    return x * n if n > 3 else x - n


@pytest.mark.parametrize("f, most", [(drawn_and_used, 1), (drawn_and_asked, 3)], ids=lambda v: getattr(v, "__name__", ""))
def test_a_random_number_is_a_symbol_at_once(f, most):
    graphs = []

    def counting(gm, inputs):
        graphs.append(gm)
        return gm.forward

    compiled = weft.compile(f, backend=counting)
    for seed in range(20):
        results = []
        for call in (f, compiled):
            random.seed(seed)
            results.append((call(weft.arange(3)).tolist(), random.random()))
        assert results[0] == results[1]
    assert len(graphs) == most


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_integers_over_a_float_that_changes(backend):
    def f(x, y):
        return weft.div(x, y, rounding_mode="trunc"), weft.div(x, y, rounding_mode="floor")

    compiled = weft.compile(f, backend=backend)
    x = weft.tensor([5, -5])
    for y in (1.5, 2.5, 0.0, 0.25, -3.0, float("inf")):
        for found, expected in zip(compiled(x, y), f(x, y)):
            assert found.dtype is expected.dtype and found.tolist() == expected.tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_float_that_changes_among_integers(backend):
    def f(x, v):
        y = x.clone()
        y[0] = v
        filled = x.masked_fill(x > 1, v), x.index_fill(0, weft.tensor([1]), v), weft.full_like(x, v)
        return *filled, weft.addcmul(x, x, x, value=v), y

    compiled = weft.compile(f, backend=backend)
    x = weft.arange(4)
    for v in (1.5, 2.5, -3.5, 0.5, 7.0):
        for found, expected in zip(compiled(x, v), f(x, v)):
            assert found.dtype is expected.dtype is weft.int64 and found.tolist() == expected.tolist()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_the_host_is_one_device(backend):
    def f(x, device):
        y = x.to(device) + weft.zeros(1, device=device)
        return y.device, weft.zeros(1, device=device).device, (y + 1).device.index

    compiled = weft.compile(f, backend=backend)
    for device in ("cpu", "cpu:0", weft.device("cpu", 0)):
        assert compiled(weft.ones(1), device) == f(weft.ones(1), device) == (weft.device("cpu"), weft.device("cpu"), None)


def test_a_dim_may_be_a_number_that_changes():
    x = weft.randn(5, 7, 3)
    for reduce in (weft.var, weft.std, weft.var_mean, weft.norm):
        f = lambda x, d, reduce=reduce: reduce(x, dim=d)
        weft.compiler.reset()  # one function for all: they count together
        compiled = weft.compile(f, dynamic=True, fullgraph=True)
        for d in (-1, -2, 2):
            weft.testing.assert_close(compiled(x, d), f(x, d))


def test_errors_name_the_class_of_an_object_beside_a_symbol():
    class Counted(int):
        pass

    def f(x, counted, n):
        texts = []
        for left, right in ((counted, n), (n, counted)):
            try:
                left @ right
            except TypeError as error:
                texts.append(str(error))
        return x + n, texts, counted + n, n * counted

    compiled = weft.compile(f)
    for n in (3, 4, 5):
        found, expected = compiled(weft.ones(2), Counted(5), n), f(weft.ones(2), Counted(5), n)
        assert found[1:] == expected[1:] and weft.equal(found[0], expected[0])


@pytest.mark.parametrize("backend", ["inductor", "aot_eager"])
@pytest.mark.parametrize("f", [lambda x, n: x.reshape(n, 4), lambda x, n: x.view(n, -1), lambda x, n: x.unflatten(0, (n, -1))])
def test_a_size_that_is_a_number_may_be_the_one_to_infer(f, backend):
    def outcome(g, n):
        try:
            return g(weft.ones(6, 4), n).shape
        except RuntimeError as e:
            return str(e)

    compiled = weft.compile(f, backend=backend)
    for n in (2, 3, 6, -1, -2, 1, 0, -1):
        assert outcome(compiled, n) == outcome(f, n)
