"""state_dict and load_state_dict: versions, extra state, hooks, assigned and swapped tensors, what is reported; conversions."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import pytest

import weft as torch
from weft import nn


def test_metadata_has_the_versions_by_name():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    state = net.state_dict()
    assert state._metadata == OrderedDict([("", {"version": 1}), ("0", {"version": 1}), ("1", {"version": 2})])
    assert net.state_dict(prefix="a.")._metadata.keys() == {"a", "a.0", "a.1"}
    into = OrderedDict()
    assert net.state_dict(destination=into) is into and not hasattr(into, "_metadata")
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert list(net.state_dict(OrderedDict(), "p."))[0] == "p.0.weight"
    kept = net.state_dict(keep_vars=True)
    assert kept["0.weight"] is net[0].weight and not state["0.weight"].requires_grad
    assert state["0.weight"].data_ptr() == net[0].weight.data_ptr()


def test_a_module_reads_checkpoints_of_its_older_versions():
    class Renamed(nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.new = nn.Parameter(torch.zeros(2))

        def _load_from_state_dict(self, state, prefix, metadata, strict, missing, unexpected, errors):
            if metadata.get("version", 1) < 2:
                state[prefix + "new"] = state.pop(prefix + "old")
            super()._load_from_state_dict(state, prefix, metadata, strict, missing, unexpected, errors)

    net = nn.Sequential(Renamed())
    old = OrderedDict({"0.old": torch.ones(2)})
    old._metadata = {"0": {"version": 1}}
    assert repr(net.load_state_dict(old)) == "<All keys matched successfully>"
    assert net[0].new.tolist() == [1, 1] and list(old) == ["0.old"]


def test_extra_state():
    class Counting(nn.Linear):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    a, b = Counting(1, 1), Counting(1, 1)
    a.count = 7
    assert list(a.state_dict()) == ["weight", "bias", "_extra_state"]
    b.load_state_dict(a.state_dict())
    assert b.count == 7
    with pytest.raises(RuntimeError, match='Missing key.*"_extra_state"'):
        b.load_state_dict(nn.Linear(1, 1).state_dict())
    with pytest.raises(RuntimeError, match='Unexpected key.*"_extra_state"'):
        nn.Linear(1, 1).load_state_dict(a.state_dict())


def test_all_problems_are_reported_at_once():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    state = {"0.weight": torch.ones(3, 3), "0.bias": 3, "1.weight": torch.ones(1, 3)}
    state |= {"1.other": torch.ones(1), "2.w": torch.ones(1)}
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    assert str(error.value).splitlines() == [
        "Error(s) in loading state_dict for Sequential:",
        '\tMissing key(s) in state_dict: "1.bias". ',
        '\tUnexpected key(s) in state_dict: "2.w", "1.other". ',
        f"\tsize mismatch for 0.weight: copying a param with shape {torch.ones(3, 3).shape} from checkpoint, "
        f"the shape in current model is {torch.ones(3, 2).shape}.",
        '\tWhile copying the parameter named "0.bias", expected torch.Tensor or Tensor-like object from checkpoint but received '
        "<class 'int'>",
    ]
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
        net.load_state_dict(3)


def test_assign_takes_the_tensors_themselves():
    net = nn.Linear(2, 2, bias=False)
    net.weight.requires_grad_(False)
    given = torch.ones(2, 2, dtype=torch.float64)
    net.load_state_dict({"weight": given}, assign=True)
    assert isinstance(net.weight, nn.Parameter) and net.weight.data_ptr() == given.data_ptr() and not net.weight.requires_grad
    empty = nn.Linear(2, 2, device="meta")
    with pytest.warns(UserWarning, match="is a no-op. .Did you mean to pass `assign=True`"):
        empty.load_state_dict({"weight": torch.ones(2, 2)}, strict=False)
    empty.load_state_dict(nn.Linear(2, 2).state_dict(), assign=True)
    assert empty(torch.ones(1, 2)).shape == (1, 2)


def test_hooks_around_writing_and_reading():
    net, seen = nn.Linear(1, 1), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(("pre", prefix, keep)))
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update({prefix + "more": torch.zeros(1)}))
    state = net.state_dict(prefix="p.")
    assert seen == [("pre", "p.", False)] and list(state) == ["p.weight", "p.bias", "p.more"]
    net._register_state_dict_hook(lambda m, state, prefix, meta: {"only": 1})
    assert net.state_dict() == {"only": 1}

    other = nn.Linear(1, 1)
    other.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: state.pop(prefix + "more"))
    other.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    given = {"weight": torch.ones(1, 1), "more": torch.zeros(1)}
    assert other.load_state_dict(given).missing_keys == [] and "more" in given
    bad = nn.Linear(1, 1)
    bad.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        bad.state_dict()


class Reads(nn.Linear):
    def __init__(self):
        super().__init__(1, 1)
        self.register_load_state_dict_pre_hook(Reads.note)
        self.noted = 0

    def note(self, *rest):
        self.noted += 1


def test_hooks_of_copies_know_the_copy():
    module = Reads()
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        other.load_state_dict(module.state_dict())
        assert other.noted == 1 and module.noted == 0


def test_buffers_by_assignment():
    net = nn.Module()
    net.kept = nn.parameter.Buffer(torch.ones(1))
    net.scratch = nn.parameter.Buffer(torch.ones(1), persistent=False)
    assert [n for n, _ in net.named_buffers()] == ["kept", "scratch"] and list(net.state_dict()) == ["kept"]
    net.kept = None
    assert dict(net._buffers)["kept"] is None and list(net.state_dict()) == []
    with pytest.raises(TypeError, match="cannot assign 'str' as buffer 'kept'"):
        net.kept = "x"


def test_conversions_keep_parameters_and_their_gradients():
    net = nn.Linear(2, 2)
    weight = net.weight
    net(torch.ones(1, 2)).sum().backward()
    gradient = weight.grad
    net.double()
    assert net.weight is weight and weight.dtype == torch.float64
    assert weight.grad is gradient and gradient.dtype == torch.float64
    net.to(torch.ones(1, dtype=torch.float16))
    assert weight.dtype == torch.float16
    meta = net.to("meta")
    assert meta is net and net.weight is not weight and net.weight.is_meta and isinstance(net.weight, nn.Parameter)
    with pytest.raises(NotImplementedError, match="to_empty"):
        net.to("cpu")
    assert not net.to_empty(device="cpu").weight.is_meta
    with pytest.raises(TypeError, match="only accepts floating point or complex"):
        net.to(torch.int32)
    with pytest.raises(TypeError, match="unexpected keyword argument 'parrot'"):
        net.to(parrot=1)


@pytest.fixture
def swapping():
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def test_swapped_parameters_are_the_same_objects(swapping):
    net = nn.Linear(2, 2)
    weight = net.weight
    net.to(torch.float64)
    assert net.weight is weight and weight.dtype == torch.float64 and weight.requires_grad
    net.load_state_dict({"weight": torch.ones(2, 2, dtype=torch.float64), "bias": torch.zeros(2, dtype=torch.float64)})
    assert net.weight is weight and weight.tolist() == [[1, 1], [1, 1]]


def test_swap_tensors():
    a, b = nn.Parameter(torch.ones(2)), torch.zeros(3, dtype=torch.float64)
    b.note = "b"
    torch.utils.swap_tensors(a, b)
    assert isinstance(b, nn.Parameter) and not isinstance(a, nn.Parameter)
    assert a.shape == (3,) and a.note == "b" and b.tolist() == [1, 1] and b.requires_grad and not a.requires_grad
    with pytest.raises(RuntimeError, match="not a leaf"):
        torch.utils.swap_tensors(b * 1, a)


def test_module_compile_stays_with_the_instance(fresh):
    net = nn.Linear(2, 2)
    net.compile(backend="eager", fullgraph=True)
    x = torch.ones(1, 2)
    plain = nn.functional.linear(x, net.weight, net.bias)
    assert torch.equal(net(x), plain)
    net.register_forward_hook(lambda m, a, o: o * 2)
    assert torch.equal(net(x), plain * 2)
    other = copy.deepcopy(net)
    assert other._compiled_call_impl is None and torch.equal(other(x), plain * 2)
    assert pickle.loads(pickle.dumps(nn.Sequential(nn.ReLU())))(x).shape == (1, 2)


def test_swapped_tensors_take_their_slots_along():
    class Named(torch.Tensor):
        __slots__ = ("name", "unit")

    class Other(torch.Tensor):
        __slots__ = ("unit", "name")

    class Bare(torch.Tensor):
        __slots__ = ("name",)

    first, second, third = (torch.full((2,), v).as_subclass(c) for v, c in ((1.0, Named), (2.0, Other), (3.0, Bare)))
    first.name, second.unit = "first", "s"
    torch.utils.swap_tensors(first, second)
    assert (type(first), first.unit, hasattr(first, "name")) == (Other, "s", False)
    assert (type(second), second.name, hasattr(second, "unit")) == (Named, "first", False)
    assert first.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="different slots"):
        torch.utils.swap_tensors(first, third)


def test_dicts_of_attributes_change_places_as_they_are():
    class Named(torch.Tensor):
        pass

    for a, b in ((torch.rand(2), torch.rand(3).as_subclass(Named)), (torch.rand(2), torch.rand(3))):
        b.label = "b"
        first, second = a.__dict__, b.__dict__
        torch.utils.swap_tensors(a, b)
        assert a.__dict__ is second and b.__dict__ is first and a.label == "b" and not hasattr(b, "label")
