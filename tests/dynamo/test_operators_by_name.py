"""Targets of nodes, as `torch._ops` knows them."""

import weft
from weft._ops import HigherOrderOperator, OpOverload


def test_nodes_that_are_given_functions_are_told_apart():
    targets = []

    def backend(gm, inputs):
        targets.extend(node.target for node in gm.graph.nodes if node.op == "call_function")
        return gm.forward

    weft.compile(lambda x: weft.func.vmap(lambda y: y.sin())(x) + 1, backend=backend)(weft.ones(2, 2))
    branch = lambda p, x: weft.cond(p, lambda y: y.sin(), lambda y: y.cos(), (x,))
    weft.compile(branch, backend=backend)(weft.tensor(True), weft.ones(2))
    kinds = [isinstance(target, HigherOrderOperator) for target in targets]
    assert kinds.count(True) == 2 and not all(kinds)
    assert isinstance(weft.ops.aten.add.Tensor, OpOverload) and not isinstance(weft.ops.aten.add.Tensor, HigherOrderOperator)
