"""Passes under PyTorch's names: which nodes a backend can run, and graphs cut by that."""

import operator

import pytest

import weft
from aten.fx import symbolic_trace
from aten.fx.passes import operator_support
from aten.fx.passes.dialect.common.cse_pass import CSEPass
from aten.fx.passes.fake_tensor_prop import FakeTensorProp
from aten.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from aten.fx.passes.split_utils import split_by_tags
from aten.fx.passes.tools_common import get_node_target, is_node_output_tensor, legalize_graph
from aten.fx.passes.utils.fuser_utils import fuse_by_partitions, validate_partition
from weft import nn
from weft._subclasses.fake_tensor import FakeTensorMode


class Arithmetic(operator_support.OperatorSupport):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target in (operator.add, operator.mul)


def program(a, b):
    c = a + b
    d = c * 2
    e = weft.relu(d)
    g = e + b
    h = g * e
    return h + c


def test_partitions_are_as_large_as_can_be_and_run_as_before():
    gm, x = symbolic_trace(program), weft.ones(2)
    partitioner = CapabilityBasedPartitioner(gm, Arithmetic())
    parts = partitioner.propose_partitions()
    assert sorted(part.size() for part in parts) == [2, 3]
    fused = partitioner.fuse_partitions(parts)
    assert {name for name, _ in fused.named_children()} == {"fused_0", "fused_1"}
    assert weft.equal(fused(x, x), program(x, x)) and isinstance(fused.fused_0, nn.Module)
    assert [n.name for n in fused.graph.nodes if n.op == "call_function" and n.target is not operator.getitem] == ["relu"]


def test_single_nodes_are_left_out_unless_asked_for():
    def one(a):
        return weft.relu(a + a) * 2

    assert CapabilityBasedPartitioner(symbolic_trace(one), Arithmetic()).propose_partitions() == []
    asked = CapabilityBasedPartitioner(symbolic_trace(one), Arithmetic(), allows_single_node_partition=True)
    assert len(asked.propose_partitions()) == 2 and weft.equal(asked.partition_and_fuse()(weft.ones(2)), weft.full((2,), 4.0))


def test_a_partition_is_not_left_and_entered_again():
    gm = symbolic_trace(program)
    nodes = {n.name: n for n in gm.graph.nodes}
    assert not validate_partition([nodes["mul"], nodes["add_1"]]) and validate_partition([nodes["add"], nodes["mul"]])
    with pytest.raises(AssertionError, match="Invalid partition"):
        fuse_by_partitions(gm, [{nodes["mul"]: 0, nodes["add_1"]: 0}])


def test_answers_are_put_together():
    gm = symbolic_trace(lambda x: weft.relu(x) + weft.sigmoid(x))
    relu = operator_support.create_op_support(lambda _, n: n.name == "relu")
    called = operator_support.create_op_support(lambda _, n: n.op == "call_function")
    ask = lambda s: [s.is_node_supported({}, n) for n in gm.graph.nodes]  # noqa: E731
    assert ask(operator_support.chain(relu, called)) == [False, True, False, False, False]
    assert ask(operator_support.any_chain(relu, called)) == [False, True, True, True, False]
    assert ask(operator_support.OpSupports.decline_if_node_in_names({"relu"})) == [True, False, True, True, True]
    by_name = operator_support.OperatorSupport({"torch.relu": None, "torch.sigmoid": (((weft.float64,),), {})})
    FakeTensorProp(gm).propagate(weft.ones(2))
    assert ask(by_name) == [True, True, False, False, True]
    declined = operator_support.OpSupports.decline_if_input_dtype(weft.float32)
    assert ask(declined) == [True, False, False, False, False]


def test_fake_tensors_show_what_values_look_like():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(2, 4)
            self.scale = nn.Parameter(weft.ones(4))

        def forward(self, x):
            return (self.l(x) * self.scale).sum(-1)

    net = Net()
    weight = net.l.weight
    gm = symbolic_trace(net)
    FakeTensorProp(gm).propagate(weft.ones(3, 2))
    assert [tuple(n.meta["val"].sizes) for n in gm.graph.nodes if "val" in n.meta and n.op == "call_method"] == [(3,)]
    assert gm.l.weight is weight and type(weight) is nn.Parameter
    assert all(is_node_output_tensor(n) for n in gm.graph.nodes if n.op.startswith("call"))
    mode = FakeTensorMode()
    with mode:
        fakes = weft.empty(3, 2), weft.empty(2, 5)
    made = FakeTensorProp(symbolic_trace(lambda x, y: (x @ y).relu()), mode).propagate_dont_convert_inputs(*fakes)
    assert tuple(made.shape) == (3, 5) and made.device == weft.device("cpu")


def test_parts_by_tags_and_nodes_in_order():
    gm = symbolic_trace(lambda x: weft.sigmoid(weft.relu(x)) * 2)
    for n in gm.graph.nodes:
        if n.op == "call_function":
            n.tag = "first" if n.name == "relu" else "second"
    cut = split_by_tags(gm, ["first", "second"])
    assert [n.target for n in cut.graph.nodes if n.op == "call_module"] == ["first", "second"]
    assert weft.equal(cut(weft.ones(2)), gm(weft.ones(2)))
    nodes = {n.name: n for n in gm.graph.nodes}
    nodes["sigmoid"].append(nodes["relu"])
    assert [n.name for n in legalize_graph(gm).graph.nodes] == ["x", "relu", "sigmoid", "mul", "output"]
    assert get_node_target({}, gm.graph.find_nodes(op="call_function", target=operator.mul)[0]) == "_operator.mul"


def test_the_same_computation_is_made_once():
    gm = weft.fx.experimental.proxy_tensor.make_fx(lambda x: x.cos() + x.cos(), pre_dispatch=True)(weft.ones(2))
    made = CSEPass()(gm)
    assert made.modified and [n.name for n in made.graph_module.graph.nodes][1:-1] == ["cos", "add"]
