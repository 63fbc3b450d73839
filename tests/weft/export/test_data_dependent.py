"""Programs whose numbers and sizes depend on data are exported, in core ops too, and saved."""

import io

import pytest

import weft
from tests.dynamo.asserted import sum_above_0 as asserted


def positions(x):
    return x.nonzero().float() + 1


def a_number(x):
    n = x.sum().int().item()
    weft._check_is_size(n)
    return weft.ones(n + 1)


def masked(x):
    return x[x > 0] * 2, x.masked_select(x > 0).sum()


def distinct(x):
    values, counts = weft.unique(x, return_counts=True)
    return values + 1, counts


def where(x):
    (found,) = weft.where(x > 0)
    return found + 1


def a_truth(x):
    return (x > 1).any().item(), not (x > 1).all().item()


def member(x):
    return x.shape[0] in x, 7 not in x


INPUTS = [weft.ones(3), weft.tensor([0.0, 2.0, 0.0]), weft.tensor([1.0, 2.0, 3.0])]
PROGRAMS = [positions, a_number, masked, distinct, where, a_truth, asserted, member]


class Program(weft.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


@pytest.mark.parametrize("f", PROGRAMS)
def test_exported_programs_give_what_plain_ones_give(f):
    program = weft.export.export(Program(f), (INPUTS[0],))
    file = io.BytesIO()
    weft.export.save(program, file)
    file.seek(0)
    in_core_ops, _ = weft._dynamo.export(f, aten_graph=True)(INPUTS[0])
    for made in (program.module(), program.run_decompositions().module(), weft.export.load(file).module(), in_core_ops):
        for x in INPUTS:
            assert str(made(x)) == str(f(x))


@pytest.mark.parametrize("f", PROGRAMS)
def test_captured_whole(f):
    for backend in ("eager", "inductor"):
        compiled = weft.compile(f, fullgraph=True, backend=backend)
        for x in INPUTS:
            assert str(compiled(x)) == str(f(x))


def test_a_check_stays_in_core_ops():
    in_core_ops, _ = weft._dynamo.export(asserted, aten_graph=True)(INPUTS[0])
    with pytest.raises(RuntimeError, match="nothing above 0"):
        in_core_ops(-INPUTS[0])
