"""FakeTensorMode: tensors without data. (Answers are PyTorch 2.13's.)"""

import copy

import pytest

import weft
from weft._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    detect_fake_mode,
    is_fake,
    unset_fake_temporarily,
)

REAL = weft.zeros(3, 4)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda x: x, "size=(3, 4)"),
        (lambda x: x @ weft.randn(4, 5), "size=(3, 5)"),
        (lambda x: weft.tensor([1.0, 2.0]), "size=(2,)"),
        (lambda x: weft.tensor(3.0) + x, "size=(3, 4)"),
        (lambda x: weft.arange(3), "size=(3,), dtype=weft.int64"),
        (lambda x: x.add_(1), "size=(3, 4)"),
        (lambda x: weft.add(x, 1, out=weft.empty(3, 4)), "size=(3, 4)"),
        (lambda x: weft.cat([x, x]), "size=(6, 4)"),
        (lambda x: x.to(weft.float64), "size=(3, 4), dtype=weft.float64"),
        (lambda x: x.to("meta"), "device='meta', size=(3, 4)"),
        (lambda x: weft.empty(0).resize_(3, 4), "size=(3, 4)"),
        (lambda x: x.sort()[1], "size=(3, 4), dtype=weft.int64"),
        (lambda x: weft.nn.functional.conv2d(weft.randn(1, 3, 8, 8), weft.randn(4, 3, 3, 3)), "size=(1, 4, 6, 6)"),
        (lambda x: copy.deepcopy(x), "size=(3, 4)"),
        (lambda x: x.new_zeros(3), "size=(3,)"),
    ],
)
def test_what_ops_make_in_the_mode_is_fake(make, text):
    with FakeTensorMode():
        assert repr(make(weft.empty(3, 4))) == f"FakeTensor(..., {text})"


def test_strides_are_those_of_real_ones():
    real = weft.randn(2, 3, 4)
    fake = FakeTensorMode().from_tensor(real)
    for f in (
        lambda t: t.transpose(0, 2),
        lambda t: t[:, 1:].contiguous(),
        lambda t: t.permute(2, 0, 1) * 2,
        lambda t: t[..., ::2],
    ):
        assert f(fake).stride() == f(real).stride()
        assert f(fake).shape == f(real).shape


@pytest.mark.parametrize(
    "ask, error",
    [
        (lambda x: x[0, 0].item(), DataDependentOutputException),
        (lambda x: bool(x[0, 0]), DataDependentOutputException),
        (lambda x: x.tolist(), DataDependentOutputException),
        (lambda x: x.nonzero(), DynamicOutputShapeException),
        (lambda x: x[x > 0], DynamicOutputShapeException),
        (lambda x: x.numpy(), RuntimeError),
        (lambda x: REAL.copy_(x), DataDependentOutputException),
        (lambda x: weft.add(x, 1, out=REAL), DataDependentOutputException),
    ],
)
def test_data_is_refused(ask, error):
    with FakeTensorMode() as mode, pytest.raises(error):
        ask(mode.from_tensor(weft.ones(3, 4)))


def test_modules_and_gradients():
    with FakeTensorMode():
        model = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.ReLU(), weft.nn.Linear(8, 2))
        model(weft.randn(5, 4)).sum().backward()
    for p in model.parameters():
        assert isinstance(p, FakeTensor)
        assert isinstance(p, weft.nn.Parameter)
        assert p.grad.shape == p.shape
        assert is_fake(p.grad)


def test_real_tensors_must_be_allowed():
    real = weft.randn(2, 3)
    mode = FakeTensorMode()
    with pytest.raises(AssertionError, match="convert all Tensors to FakeTensors"):
        mode.from_tensor(real) + real
    lenient = FakeTensorMode(allow_non_fake_inputs=True)
    assert is_fake(lenient.from_tensor(real) + real)
    linear = weft.nn.Linear(3, 2)
    with lenient:
        assert linear(weft.ones(5, 3)).shape == (5, 2)


def test_the_mode_ends():
    with FakeTensorMode() as mode:
        assert detect_fake_mode() is mode
        with unset_fake_temporarily():
            assert weft.ones(2).tolist() == [1.0, 1.0]
        assert is_fake(weft.ones(2))
    assert detect_fake_mode() is None
    assert detect_fake_mode([mode.from_tensor(weft.ones(1))]) is mode
    assert weft.ones(2).tolist() == [1.0, 1.0]


def test_random_numbers_are_not_used_up():
    weft.manual_seed(7)
    wanted = weft.rand(3)
    weft.manual_seed(7)
    with FakeTensorMode():
        weft.rand(100)
        weft.nn.Linear(3, 3)
    assert weft.equal(weft.rand(3), wanted)


def test_devices_are_told_apart():
    mode = FakeTensorMode()
    a, b = (FakeTensor(mode, weft.empty(3, device="meta"), device) for device in ("cpu", "meta"))
    assert (a + a).device.type == "cpu"
    with pytest.raises(RuntimeError, match="two different devices cpu, meta"):
        a + b


def test_compiled_code_gives_fake_results_too():
    compiled = weft.compile(lambda x: x * 2 + 1)
    real = weft.ones(3)
    assert compiled(real).tolist() == [3.0] * 3
    with FakeTensorMode() as mode:
        assert is_fake(compiled(mode.from_tensor(real)))
    assert compiled(real).tolist() == [3.0] * 3


class Doubled(weft.Tensor):
    """A tensor of a class of its own: ops on it see twice its numbers."""

    __torch_function__ = weft._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner):
        made = weft.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if "detach" in str(func):
            return cls(args[0].inner)
        plain = [a.inner * 2 if isinstance(a, cls) else a for a in args]
        return func(*plain, **(kwargs or {}))


def test_a_parameter_of_a_class_of_its_own_stays_of_it():
    parameter = weft.nn.Parameter(Doubled(weft.ones(3)))
    assert type(parameter) is Doubled
    assert isinstance(parameter, weft.nn.Parameter)
    assert parameter.requires_grad
    assert (parameter + 1).tolist() == [3.0] * 3
    module = weft.nn.Module()
    module.weight = parameter
    assert [name for name, _ in module.named_parameters()] == ["weight"]
    assert not isinstance(Doubled(weft.ones(3)), weft.nn.Parameter)


def test_a_class_whose_detach_gives_another_cannot_be_a_parameter():
    class Forgetful(Doubled):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))

    with pytest.raises(RuntimeError, match="requires that detach"):
        weft.nn.Parameter(Forgetful(weft.ones(3)))
