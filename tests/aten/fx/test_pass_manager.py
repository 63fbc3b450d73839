"""Passes as objects, their order, and what is said of their results."""

import pytest

import weft
from aten.fx import symbolic_trace
from aten.fx.passes.infra.pass_base import PassBase, PassResult
from aten.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint


class Swap(PassBase):
    """sin becomes cos, cos becomes tan: one a round."""

    def call(self, graph_module):
        following = {weft.sin: weft.cos, weft.cos: weft.tan}
        changed = [node for node in graph_module.graph.nodes if node.target in following]
        for node in changed:
            node.target = following[node.target]
        graph_module.recompile()
        return PassResult(graph_module, bool(changed))


@pytest.mark.parametrize("steps, f", [(None, weft.cos), (1, weft.cos), (2, weft.tan), (9, weft.tan)])
def test_rounds(steps, f):
    x = weft.ones(2)
    found = PassManager([Swap()], steps=steps)(symbolic_trace(lambda x: weft.sin(x) + 1))
    assert found.modified
    weft.testing.assert_close(found.graph_module(x), f(x) + 1)
    assert not PassManager([Swap()])(symbolic_trace(lambda x: x + 1)).modified


def test_order():
    order = []
    first, second, third = (pass_result_wrapper(lambda m, n=n: order.append(n)) for n in (1, 2, 3))
    manager = PassManager([third, second, first])
    manager.add_constraint(this_before_that_pass_constraint(first, second))
    with pytest.raises(RuntimeError, match="constraint"):
        manager.validate_constraints()
    manager(symbolic_trace(lambda x: x))
    assert order == [3, 1, 2]
    manager.add_constraint(this_before_that_pass_constraint(second, first))
    with pytest.raises(RuntimeError, match="cannot be met"):
        manager.solve_constraints()


def test_checks_and_errors():
    class Asks(Swap):
        def requires(self, graph_module):
            raise ValueError("another graph")

    module = symbolic_trace(lambda x: x)
    with pytest.raises(Exception, match="'Asks' pass: another graph"):
        PassManager([Asks()])(module)
    with pytest.raises(Exception, match="PassResult"):
        PassManager([lambda m: m])(module)
    manager, seen = PassManager([Swap()], run_checks_after_each_pass=True), []
    manager.add_checks(seen.append)
    manager(module)
    assert len(seen) == 2
