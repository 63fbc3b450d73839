"""A compiled function called inside of what grad, vmap or jvp transforms runs as the plain one."""

import pytest
from weft._dynamo import exc
from weft._dynamo.utils import counters

import weft as torch

TRANSFORMS = {
    "grad": torch.func.grad,
    "vmap": torch.vmap,
    "jvp": lambda f: lambda x: torch.func.jvp(f, (x,), (x,))[1],
    "jacrev": torch.func.jacrev,
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_it_runs_as_the_plain_one(transform):
    def f(x):
        start = torch.zeros(())
        start += (x * x).sum()
        return start

    x = torch.tensor([0.5, -1.0, 2.0])
    if transform is torch.vmap:
        f = lambda x: x * x + torch.zeros(())
    compiled = torch.compile(f)
    compiled(x)  # its graph is not for tensors of a level
    seen = lambda: (counters["stats"]["unique_graphs"], counters["graph_break"].total())
    before = seen()
    assert torch.equal(transform(compiled)(x), transform(f)(x))
    assert seen() == before


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_whole_graph_is_refused(transform):
    compiled = torch.compile(lambda x: (x * x).sum(), fullgraph=True)
    with pytest.raises(exc.Unsupported, match="inside of a function transform"):
        transform(compiled)(torch.ones(3))


def test_the_transform_itself_compiles():
    compiled = torch.compile(lambda x: (x * x).sum())
    outer = torch.compile(torch.func.grad(compiled), fullgraph=True)
    assert outer(torch.tensor([1.0, 2.0])).tolist() == [2, 4]
