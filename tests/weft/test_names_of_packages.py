"""Names, some of them private, that packages of others import or say in their annotations."""

from __future__ import annotations

import pickle
from collections import OrderedDict

import pytest

import weft
from weft import serialization


def test_torch_torch_is_torch():
    with weft.as_torch():
        import torch

        assert torch.torch is torch and torch.torch.Tensor is weft.Tensor


def test_serialization_says_its_protocol_and_what_places_are():
    assert serialization.DEFAULT_PROTOCOL == 2 and serialization.MAP_LOCATION is not None
    assert pickle.HIGHEST_PROTOCOL >= serialization.DEFAULT_PROTOCOL


def test_the_class_of_tensor_classes():
    class Meta(weft._C._TensorMeta):
        def __instancecheck__(cls, instance):
            return isinstance(instance, weft.Tensor) and getattr(instance, "special", False)

    class Special(weft.Tensor, metaclass=Meta):
        pass

    x = weft.ones(2)
    assert not isinstance(x, Special)
    x.special = True
    assert isinstance(x, Special)


def test_tensors_that_data_takes():
    same = weft._has_compatible_shallow_copy_type
    x = weft.ones(2, 2)
    assert same(x, weft.zeros(5, dtype=weft.int8)) and not same(x, weft.ones(2, device="meta")) and not same(x, x.to_sparse())


def test_clipped_sigmoid_stays_off_0_and_1():
    clipped = weft.distributions.transforms._clipped_sigmoid
    x = weft.tensor([-1000.0, 0.0, 1000.0])
    y = clipped(x)
    assert 0 < y[0].item() < 1e-30 and y[1].item() == 0.5 and y[2].item() < 1


def test_pin_memory_is_an_op():
    x = weft.ones(2)
    assert weft.ops.aten._pin_memory.default(x).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        weft.ops.aten._pin_memory(weft.ones(2, device="meta"))


def test_what_is_traced_is_known_while_it_is():
    from weft.fx.experimental.proxy_tensor import get_proxy_mode, make_fx

    seen = []

    def f(x):
        seen.append(get_proxy_mode())
        return x + 1

    f(weft.ones(2))
    graph = make_fx(f)(weft.ones(2))
    assert seen[0] is None and seen[1] is not None and get_proxy_mode() is None
    assert graph(weft.ones(2)).tolist() == [2, 2]


def test_sparse_addmm_is_an_op():
    a = weft.tensor([[0.0, 2.0], [1.0, 0.0]])
    got = weft.ops.aten._sparse_addmm.default(weft.ones(2, 2), a.to_sparse(), weft.eye(2), beta=2)
    assert got.tolist() == [[2, 4], [3, 2]]
    with pytest.raises(RuntimeError, match="only be called on sparse tensors"):
        weft.ops.aten._sparse_addmm(weft.ones(2, 2), a, weft.eye(2))


def test_numpy_dtypes_that_are_not_collated():
    from weft.utils.data._utils.collate import np_str_obj_array_pattern
    from weft.utils.data.dataloader import _utils

    assert np_str_obj_array_pattern.search("<U3") and not np_str_obj_array_pattern.search("<f4")
    assert np_str_obj_array_pattern is _utils.collate.np_str_obj_array_pattern


def test_a_tracer_appends_to_a_graph_that_there_is():
    from weft import fx

    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    x, y = (fx.Proxy(graph.placeholder(name, weft.Tensor), tracer=tracer) for name in "xy")
    a, b = weft.broadcast_tensors(x[..., :1], y)
    z = weft.einsum("ab,ab->a", a, b) + weft.nn.functional.relu(x).sum(-1).new_zeros((2,))
    graph.output(z.node, weft.Tensor)
    graph.lint()
    module = fx.GraphModule({}, graph, "made")
    assert module(weft.ones(2, 1), weft.full((2, 3), 2.0)).tolist() == [6, 6]


def test_records_of_a_file(tmp_path):
    weft.save({"w": weft.arange(6).float()}, tmp_path / "x.pt")
    reader = weft.PyTorchFileReader(str(tmp_path / "x.pt"))
    assert reader.has_record("data.pkl") and "data/0" in reader.get_all_records() and reader.get_record_size("data/0") == 24
    at = reader.get_record_offset("data/0")
    assert (tmp_path / "x.pt").read_bytes()[at : at + 24] == reader.get_record("data/0")
    assert reader.get_storage_from_record("data/0", 6, weft.float32).tolist() == list(range(6))
    with pytest.raises(RuntimeError, match="failed locating file nope"):
        reader.get_record("nope")
    (tmp_path / "no.pt").write_bytes(b"nothing")
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        weft.PyTorchFileReader(str(tmp_path / "no.pt"))


def test_no_tensor_is_in_parts():
    with weft.as_torch():
        import torch.distributed.autograd
        from torch.distributed.tensor import DTensor, distribute_tensor

        assert not isinstance(weft.ones(2), DTensor) and not torch.distributed.autograd.is_available()
        with pytest.raises(RuntimeError, match="one process"):
            distribute_tensor(weft.ones(2))


def test_elements_are_printed_alone():
    from weft._tensor_str import PRINT_OPTS, _tensor_str

    assert PRINT_OPTS.threshold == 1000
    assert _tensor_str(weft.tensor([[1, 2], [3, 4]]), indent=2) == "[[1, 2],\n   [3, 4]]"


def test_autocast_is_off_on_devices_that_there_are_none_of():
    assert not weft.is_autocast_enabled("mps") and not weft.is_autocast_enabled("xpu")
    with pytest.raises(RuntimeError):
        weft.is_autocast_enabled("nothing")


def test_operands_in_a_list_are_spread_in_graphs():
    from weft import fx

    graph = fx.symbolic_trace(lambda x, y: weft.einsum("ab,bc->ac", [x, y])).graph
    node = next(n for n in graph.nodes if n.op == "call_function")
    assert len(node.args) == 3 and node.args[0] == "ab,bc->ac"
    graph.lint()


def test_sizes_in_a_list_stay_in_it():
    from weft import fx

    graph = fx.symbolic_trace(lambda x: weft.reshape(weft.permute(x, (1, 0)), (2, 3))).graph
    assert [n.args[1] for n in graph.nodes if n.op == "call_function"] == [(1, 0), (2, 3)]


def test_a_proxy_without_a_tracer_appends_to_the_graph_of_its_node():
    from weft import fx

    graph = fx.Graph()
    graph.output((fx.Proxy(graph.placeholder("x")).sin() + 1).node)
    assert fx.GraphModule({}, graph)(weft.zeros(2)).tolist() == [1, 1]


def test_transforms_are_known_while_they_run():
    active = weft._C._are_functorch_transforms_active
    seen = []
    weft.vmap(lambda x: seen.append(active()) or x)(weft.ones(2))
    assert seen == [True] and not active()


def test_classes_that_scripts_are_of():
    from weft import ScriptModule, TensorType

    assert not isinstance(weft.ones(1), TensorType)
    assert ScriptModule is weft.jit.ScriptModule and not isinstance(weft.nn.Linear(1, 1), ScriptModule)
    assert weft.cuda._initialized is False and weft._C._is_tracing() is False


def test_an_optimizer_that_is_made_without_its_constructor_has_hooks():
    class Wrapper(weft.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner
            self._patch_step_function()
            self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = OrderedDict(), OrderedDict()

        def step(self, closure=None):
            return self.inner.step(closure)

    p = weft.nn.Parameter(weft.ones(2))
    wrapper = Wrapper(weft.optim.SGD([p], 0.5))
    told = []
    wrapper.register_step_post_hook(lambda *a: told.append(1))
    p.grad = weft.ones(2)
    wrapper.step()
    assert told == [1] and p.tolist() == [0.5, 0.5]


def test_arguments_of_to_are_taken_apart():
    parse = weft._C._nn._parse_to
    assert parse("meta", weft.float64) == (weft.device("meta"), weft.float64, False, None)
    assert parse(weft.float16, non_blocking=True) == (None, weft.float16, True, None)
    assert parse(weft.ones(1, dtype=weft.int8)) == (weft.device("cpu"), weft.int8, False, None)


def test_ops_are_not_marked_where_there_is_no_device():
    emit = weft.autograd.profiler.emit_nvtx
    with emit(enabled=False):
        pass
    with pytest.raises(AssertionError, match="no cuda device"):
        emit().__enter__()
