"""Buffers whose last reader writes a result over them, and those that must stay."""

import numpy as np

from inductor.ir.buffer import Extern, Kernel
from tests.inductor.graphs import Builder, check

rng = np.random.default_rng(0)
N = 100_000


def long_softmax(b, x):
    e = b("exp", b("sub", x, b("amax", x, [0], True)))
    return e, b("mul", e, b("reciprocal", b("sum", e, [0], True)))


def run(gm, *arrays):
    """The schedule, checked to give eager's numbers."""
    return check(gm, arrays)


def test_the_parts_of_a_long_row_fill_one_buffer():
    b = Builder()
    x = b.input("x", (N,))
    made = run(b.module(long_softmax(b, x)[1]), rng.normal(size=N).astype("f4"))
    big = [buffer for buffer in made.buffers.values() if [str(s) for s in buffer.sizes] == [str(N)] and buffer.kind != "input"]
    assert [buffer.name for buffer in big] == list(made.outputs)
    assert sum(made.outputs[0] in step.writes for step in made.steps) == 2


def test_what_is_returned_as_well_stays():
    b = Builder()
    x = b.input("x", (N,))
    made = run(b.module(*long_softmax(b, x)), rng.normal(size=N).astype("f4"))
    assert len(set(made.outputs)) == 2 and all(sum(o in step.writes for step in made.steps) == 1 for o in made.outputs)


def test_what_is_read_later_stays():
    b = Builder()
    x = b.input("x", (N,))
    e, out = long_softmax(b, x)
    made = run(b.module(out, b("cumprod", e, 0)), rng.normal(size=N).astype("f4"))
    writers = [step for step in made.steps if made.outputs[0] in (step.writes if isinstance(step, Kernel) else step.outputs)]
    assert len(writers) == 1


def test_what_is_read_elsewhere_than_where_is_stored_stays():
    b = Builder()
    x = b.input("x", (N,))
    e = long_softmax(b, x)[0]
    total = b("sum", e, [0], True)
    made = run(b.module(b("mul", b("flip", e, [0]), total)), rng.normal(size=N).astype("f4"))
    assert sum(made.outputs[0] in step.writes for step in made.steps if isinstance(step, Kernel)) == 1


def test_what_an_op_makes_stays():
    b = Builder()
    x = b.input("x", (512, 512))
    made = run(b.module(b("mul", b("cumprod", x, 0), 2.0)), rng.normal(size=(512, 512)).astype("f4"))
    (op,) = [step for step in made.steps if isinstance(step, Extern)]
    assert op.outputs[0] not in made.outputs
