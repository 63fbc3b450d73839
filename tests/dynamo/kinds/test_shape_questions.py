"""Questions about symbols of sizes, asked in compiled code and outside."""

import pytest

import weft
from aten.fx.experimental import symbolic_shapes as s
from dynamo.testing import CompileCounter


def test_questions_are_answered_while_tracing():
    def f(x):
        n = x.shape[0]
        known = s.statically_known_true(n == n), s.statically_known_true(n == 3), s.is_concrete_int(n), s.is_concrete_int(4)
        return x * 2 if s.guard_size_oblivious(n >= 3) else x, known, s.sym_eq((n, 1), (n, 1)), s.sym_eq([n], [n, 1])

    counter = CompileCounter()
    compiled = weft.compile(f, backend=counter, dynamic=True, fullgraph=True)
    for n in (3, 5):
        result, known, *same = compiled(weft.ones(n))
        assert result.tolist() == [2] * n and known == (True, False, False, True) and same == [True, False]
    assert counter.frame_count == 1


def test_questions_of_symbols():
    env = s.ShapeEnv()
    n, u = env.symbol("n", 4), env.unbacked()
    assert s.hint_int(n * 2) == 8 and s.hint_int(u, fallback=7) == 7 and s.hint_int(3) == 3
    with pytest.raises(s.GuardOnDataDependentSymNode):
        s.hint_int(u)
    assert s.free_symbols([n, 3, u]) == {"n", "u0"} and s.free_symbols(weft.ones(2)) == set()
    assert s.statically_known_true(n >= 0) and not s.statically_known_true(n > 3) and not env.guards
    assert s.guard_size_oblivious(n > 3) and len(env.guards) == 1
    with pytest.raises(AssertionError, match="unexpected sym_eq"):
        s.sym_eq(n, "a")
