"""Lazy modules under compile: their first call is captured whole."""

import pytest
from weft._dynamo.testing import CompileCounter

import weft
from weft.nn import LazyConv2d, LazyLinear, Module, Parameter, ReLU, Sequential, UninitializedParameter
from weft.nn.modules.lazy import LazyModuleMixin


def built(make):
    weft.manual_seed(3)
    return make()


@pytest.mark.parametrize(
    "make, sizes",
    [
        (lambda: LazyLinear(4), (3, 5)),
        (lambda: Sequential(LazyLinear(8), ReLU(), LazyLinear(2)), (3, 5)),
        (lambda: LazyConv2d(4, 3), (2, 3, 8, 8)),
        (lambda: Sequential(weft.nn.LazyBatchNorm1d(), LazyLinear(2)), (6, 5)),
    ],
)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_the_first_call_is_one_graph(make, sizes, backend):
    x = weft.randn(sizes)
    plain, lazy = built(make), built(make)
    weft.manual_seed(5)
    wanted = plain(x)
    weft.manual_seed(5)
    compiled = weft.compile(lazy, fullgraph=True, backend=backend)
    weft.testing.assert_close(compiled(x), wanted)
    assert type(lazy) is type(plain)
    assert not any(isinstance(p, UninitializedParameter) for p in lazy.parameters())
    compiled(x).sum().backward()
    assert all(p.grad is not None for p in lazy.parameters())


def test_a_module_inside_is_one_graph_and_its_parameters_are_those_of_the_graph():
    model = Sequential(LazyLinear(8), ReLU(), LazyLinear(2))
    counter = CompileCounter()
    step = weft.compile(lambda x: model(x).sum(), backend=counter, fullgraph=True)
    for _ in range(3):
        step(weft.ones(3, 5))
    assert counter.frame_count == 1


class Normalized(LazyModuleMixin, Module):
    """Its scale is that of the first batch."""

    def __init__(self):
        super().__init__()
        self.scale = UninitializedParameter()

    def initialize_parameters(self, x):
        self.scale.materialize((x.shape[-1],))
        self.seen = True
        with weft.no_grad():
            self.scale.copy_(x.std(0))

    def forward(self, x):
        return x * self.scale


def test_what_needs_data_is_left_to_python():
    x = weft.arange(12.0).reshape(4, 3) ** 2
    model = Normalized()
    with pytest.raises(weft._dynamo.exc.Unsupported, match="lazy module"):
        weft.compile(model, fullgraph=True, backend="eager")(x)
    assert isinstance(model.scale, UninitializedParameter)
    assert not hasattr(model, "seen")
    plain = Normalized()
    for _ in range(2):
        assert weft.equal(weft.compile(model, backend="eager")(x), plain(x))
    assert model.seen


class Grown(LazyModuleMixin, Module):
    """Its layer is made at the first call, and is lazy too."""

    def initialize_parameters(self, x, *, width=2):
        self.layer = LazyLinear(width)

    def forward(self, x, *, width=2):
        return self.layer(x)


def test_a_lazy_module_that_makes_lazy_modules():
    model = Grown()
    compiled = weft.compile(model, fullgraph=True, backend="eager")
    x = weft.ones(4, 3)
    assert compiled(x, width=5).shape == (4, 5)
    assert weft.equal(compiled(x, width=5), model(x))
    assert isinstance(model.layer.weight, Parameter)


def test_what_initialize_parameters_raises_is_raised_by_the_call():
    class Broken(LazyModuleMixin, Module):
        def initialize_parameters(self, x):
            raise ValueError("no such width")

        def forward(self, x):
            return x

    for fullgraph in (False, True):
        with pytest.raises((ValueError, weft._dynamo.exc.Unsupported), match="no such width|which raises"):
            weft.compile(Broken(), fullgraph=fullgraph, backend="eager")(weft.ones(1))


@pytest.mark.parametrize("convert", [lambda m: m.double(), lambda m: m.to(weft.float64), lambda m: m.to("cpu", weft.float64)])
def test_conversion_before_the_sizes_are_known(convert):
    for layer in (weft.nn.LazyLinear(3), weft.nn.LazyBatchNorm1d()):
        layer = convert(layer)
        assert isinstance(layer.weight, weft.nn.UninitializedParameter) and layer.weight.dtype is weft.float64
        assert layer(weft.ones(4, 5, dtype=weft.float64)).dtype is weft.float64
        assert type(layer.weight) is weft.nn.Parameter
