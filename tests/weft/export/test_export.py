"""Programs captured whole: graphs as modules, exported programs, their signatures, sizes and files."""

import copy
import inspect
import io
import pickle

import pytest
from weft._dynamo import exc

import weft
from weft import nn
from weft.export import Dim, ShapesCollection, dims, export, load, save
from weft.export.graph_signature import InputKind


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 3)
        self.register_buffer("seen", weft.zeros(1))
        self.register_buffer("scratch", weft.zeros(1), persistent=False)
        self.constant = weft.full((3,), 0.5)

    def forward(self, x, *, flag=True):
        self.seen.add_(1)
        y = self.lin(x) + self.seen + self.scratch + self.constant
        return {"y": y.relu(), "n": x.shape[0], "kept": [x, None]} if flag else y


def same(a, b):
    weft.testing.assert_close(a, b)


# ----------------------------------------------------------------------------------------------- weft._dynamo.export
def test_a_function_becomes_a_module_of_the_same_signature():
    def f(x, pair, *rest, k):
        first, second = pair
        return {"a": [x + first, x], "b": (k * 2, second), "n": x.shape[0], "c": 3}

    one = weft.ones
    module, guards = weft._dynamo.export(f)(one(3, 2), (one(2), one(1)), one(1), k=one(1))
    args, k = (weft.randn(5, 2), (one(2), one(4)), one(1)), one(1) * 4
    same(module(*args, k=k)["a"][0], f(*args, k=k)["a"][0])
    assert module(*args, k=k)["n"] == 5 and module(*args, k=k)["c"] == 3 and module(*args, k=k)["b"][1].shape == (4,)
    assert inspect.getfullargspec(module.forward).args == ["self", "x", "pair", "rest_0", "k"] and guards
    with pytest.raises(ValueError, match="structure"):
        module(one(3, 2), one(2), one(1), k=k)


@pytest.mark.parametrize("aten_graph", [False, True])
def test_tensors_of_a_module_are_attributes(aten_graph):
    net, x = Net(), weft.randn(4, 2)
    module, _ = weft._dynamo.export(net, aten_graph=aten_graph)(x)
    assert set(module.state_dict()) == {"lin.weight", "lin.bias", "seen"}
    expected = copy.deepcopy(net)(x)
    same(module(x)["y"], expected["y"])
    assert module.lin.weight is net.lin.weight and net.seen.tolist() == [1]
    assert any(n.op == "get_attr" and n.target == "lin.weight" for n in module.graph.nodes)
    again, _ = weft._dynamo.export(module)(x)
    assert again(weft.randn(7, 2))["n"] == 7
    same(weft.compile(module, backend="eager", fullgraph=True)(x)["y"], copy.deepcopy(module)(x)["y"] - 1)
    copied = pickle.loads(pickle.dumps(weft._dynamo.export(nn.Linear(2, 2))(x).graph_module.state_dict()))
    assert set(copied) == {"weight", "bias"}


def test_effects_on_python_are_refused_or_left_out():
    class Writes(nn.Module):
        def forward(self, x):
            self.last = x
            return x + 1

    with pytest.raises(AssertionError, match="Mutating module attribute last"):
        weft._dynamo.export(Writes())(weft.ones(2))

    def f(items):
        kept = items.copy()
        items[0] = items[1]
        kept.append(weft.ones(1))
        return items[0] + items[1], kept[0] + kept[1], kept[2]

    given = [weft.ones(2), weft.ones(2) * 3]
    module, _ = weft._dynamo.export(f)(given)
    assert [t.tolist() for t in module(given)] == [[6, 6], [4, 4], [1]] and given[0].tolist() == [1, 1]


def test_what_cannot_be_captured_whole_raises():
    with pytest.raises(exc.Unsupported):
        weft._dynamo.export(lambda x: (weft._dynamo.graph_break(), x + 1)[1])(weft.ones(2))
    with pytest.raises(exc.TorchRuntimeError, match="it raises"):
        weft._dynamo.export(lambda x: x.reshape(7))(weft.ones(2))
    with pytest.raises(AssertionError, match="Failed to produce a graph"):
        weft._dynamo.export(lambda x: x, same_signature=False)(weft.ones(2))
    with pytest.raises(exc.UserError, match="not a known type"):
        weft._dynamo.export(lambda x: (x + 1, object))(weft.ones(2))
    with pytest.warns(FutureWarning):
        assert weft._dynamo.export(lambda x: x + 1, weft.ones(2)).graph_module(weft.ones(3)).tolist() == [2, 2, 2]


def test_code_sees_that_it_is_exported():
    def f(x):
        return x + (1 if weft.compiler.is_exporting() else 2)

    assert weft._dynamo.export(f)(weft.ones(1)).graph_module(weft.ones(1)).tolist() == [2]
    assert f(weft.ones(1)).tolist() == [3] == weft.compile(f, backend="eager")(weft.ones(1)).tolist()


# ---------------------------------------------------------------------------------------------------- weft.export
def exported(net=None):
    shapes = {"x": {0: Dim("batch", min=2, max=10)}, "flag": None}
    return export(net or Net(), (weft.ones(4, 2),), {"flag": True}, dynamic_shapes=shapes)


def test_signature_and_state():
    ep = exported()
    signature = ep.graph_signature
    assert signature.parameters == ("lin.weight", "lin.bias") and signature.buffers == ("seen", "scratch")
    assert signature.non_persistent_buffers == {"scratch"} and len(signature.lifted_tensor_constants) == 1
    assert signature.user_inputs == ("x", True) and signature.inputs_to_parameters["p_lin_weight"] == "lin.weight"
    assert [s.kind for s in signature.input_specs][:3] == [InputKind.PARAMETER, InputKind.PARAMETER, InputKind.BUFFER]
    assert set(ep.state_dict) == {"lin.weight", "lin.bias", "seen"} and ep.range_constraints == {"s0": (2, 10)}
    assert [n for n, _ in ep.named_parameters()] == ["lin.weight", "lin.bias"] and len(list(ep.buffers())) == 2
    with pytest.raises(RuntimeError, match="directly"):
        ep(weft.ones(4, 2), flag=True)


def test_the_module_runs_and_checks_sizes():
    net = Net()
    module, x = exported(net).module(), weft.randn(3, 2)
    expected = copy.deepcopy(net)(x)
    found = module(x, flag=True)
    same(found["y"], expected["y"])
    assert found["n"] == 3 and found["kept"][0] is x and module.seen.tolist() == [1]
    for sizes, text in [((1, 2), "shape\\[0\\] to be >= 2"), ((11, 2), "<= 10"), ((3, 3), "equal to 2, but got 3")]:
        with pytest.raises(RuntimeError, match=text):
            module(weft.ones(*sizes), flag=True)
    with pytest.raises(RuntimeError, match="equal to True"):
        module(x, flag=False)
    with pytest.raises(RuntimeError, match="float32"):
        module(x.to(weft.float64), flag=True)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda m, x: m(), "takes the arguments"),
        (lambda m, x: m(x, x), "takes the arguments"),
        (lambda m, x: m(other=x), "takes the arguments"),
        (lambda m, x: m([x]), "structure"),
    ],
)
def test_arguments_of_another_structure_are_refused(call, text):
    module, x = weft.export.export(weft.nn.Linear(2, 3), (weft.ones(4, 2),)).module(), weft.ones(4, 2)
    with pytest.raises(ValueError, match=text):
        call(module, x)
    assert module(input=x).shape == weft.compile(lambda x: module(x), fullgraph=True)(x).shape == (4, 3)


def test_without_writes_new_values_are_outputs():
    net, x = Net(), weft.randn(3, 2)
    ep = exported(net).run_decompositions()
    (name,) = ep.graph_signature.buffers_to_mutate
    assert ep.graph_signature.buffers_to_mutate[name] == "seen" and ep.graph.output_node.args[0][0].name == name
    expected = copy.deepcopy(net)(x)["y"]
    module = ep.module()
    same(module(x, flag=True)["y"], expected)
    assert module.seen.tolist() == [1]

    class Adds(nn.Module):
        def forward(self, x):
            x.add_(1)
            return x * 2

    written = export(Adds(), (weft.zeros(2),)).run_decompositions()
    assert list(written.graph_signature.user_inputs_to_mutate.values()) == ["x"]
    value = weft.zeros(2)
    assert written.module()(value).tolist() == [2, 2] and value.tolist() == [1, 1]


@pytest.mark.parametrize("decomposed", [False, True])
def test_programs_are_saved_and_loaded(decomposed, tmp_path):
    net, x = Net(), weft.randn(3, 2)
    ep = exported(net).run_decompositions() if decomposed else exported(net)
    save(ep, tmp_path / "net.pt2", extra_files={"note": "two"})
    extra = {"note": ""}
    again = load(tmp_path / "net.pt2", extra_files=extra)
    expected = copy.deepcopy(net)(x)
    found = again.module()(x, flag=True)
    same(found["y"], expected["y"])
    assert found["n"] == 3 and extra == {"note": "two"} and again.range_constraints == {"s0": (2, 10)}
    assert str(again.graph) == str(ep.graph) and net.seen.tolist() == [0]
    with pytest.raises(RuntimeError, match="<= 10"):
        again.module()(weft.ones(11, 2), flag=True)
    with pytest.raises(ValueError, match="no exported program"):
        file = io.BytesIO()
        weft.save({"a": 1, "t": weft.ones(1)}, file)
        file.seek(0)
        load(file)


def test_branches_are_part_of_the_program():
    class Chooses(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(2, 2)

        def forward(self, x):
            return weft.cond(x.sum() > 0, lambda x: self.lin(x), lambda x: x * 2, (x,))

    net, x = Chooses(), weft.ones(3, 2)
    ep, file = export(net, (x,)), io.BytesIO()
    save(ep, file)
    file.seek(0)
    for module in (ep.module(), load(file).module(), weft._dynamo.export(net)(x).graph_module):
        for value in (x, -x):
            same(module(value), net(value))


class Branches(nn.Module):
    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def forward(self, x, y=None):
        return x + 1 if self.rule(x, y) else x - 1


a, b = dims("a", "b", max=100)


@pytest.mark.parametrize(
    ("rule", "args", "shapes", "text"),
    [
        (lambda x, y: x.shape[0] == y["k"].shape[0], (3, 3), {"x": {0: a}, "y": {"k": {0: b}}}, "b = a"),
        (lambda x, y: (3 * x.shape[0]) % 2 == 0, (12,), {"x": (a,)}, r"Constraints violated \(a\)"),
        (lambda x, y: x.shape[0] <= 13, (12,), {"x": (a,)}, r"a = Dim\('a', max=13\)"),
        (lambda x, y: x.reshape(12).sum() is not None, (12,), {"x": {0: a}}, "works for 12 only, at .*test_export.py"),
        (lambda x, y: True, (12,), {"x": {0: Dim("tiny", max=4)}}, r"12, which is not tiny in \[0, 4\]"),
        (lambda x, y: x.reshape(12).sum() is not None, (12,), {"x": {0: Dim.DYNAMIC}}, "Dim.DYNAMIC"),
    ],
)
def test_sizes_that_the_program_does_not_take(rule, args, shapes, text):
    given = [weft.ones(n) for n in args]
    given = (given[0], {"k": given[1]}) if len(given) == 2 else (given[0],)
    with pytest.raises(exc.UserError, match=text) as told:
        export(Branches(rule), given, dynamic_shapes=shapes)
    assert told.value.error_type is exc.UserErrorType.CONSTRAINT_VIOLATION


@pytest.mark.parametrize(
    ("rule", "shapes"),
    [
        (lambda x, y: (2 * x.shape[0] + 2) % (x.shape[0] + 1) == 0, {"x": (a,)}),
        (lambda x, y: x.shape[0] <= 200, {"x": (a,)}),
        (lambda x, y: x.shape[0] == y.shape[0], {"x": {0: a}, "y": {0: a}}),
        (lambda x, y: x.shape[0] + 0 == y.shape[0], ((a,), (a,))),
        (lambda x, y: x.reshape(12).sum() is not None, {"x": {0: Dim.AUTO}, "y": None}),
    ],
)
def test_sizes_that_it_takes(rule, shapes):
    export(Branches(rule), (weft.ones(12), weft.ones(12)), dynamic_shapes=shapes)


def test_derived_sizes_and_shapes_by_tensor():
    x, y = weft.ones(3), weft.ones(7)
    rule = lambda x, y: 2 * x.shape[0] + 1 == y.shape[0]
    export(Branches(rule), (x, y), dynamic_shapes={"x": {0: a}, "y": {0: 2 * a + 1}})
    shapes = ShapesCollection()
    shapes[x] = {0: a}
    shapes[y][0] = 2 * a + 1
    ep = export(Branches(rule), (x, y), dynamic_shapes=shapes)
    assert ep.module()(weft.ones(5), weft.ones(11)).tolist() == [2] * 5
    assert repr(2 * a + 1) == "2*a + 1" and (2 * a + 1).max == 201
    with pytest.raises(ValueError, match="inconsistent"):
        Dim("c", min=3, max=2)
    with pytest.raises(NotImplementedError):
        a * 0.5


@pytest.mark.parametrize(
    "shapes", [{"z": {0: a}}, {"x": {3: a}}, {"x": (a, None)}, {"x": {0: "a"}}, [None], {"x": {0: 5}}, {"y": {"k": {0: a}}}]
)
def test_shapes_that_do_not_fit_the_arguments(shapes):
    with pytest.raises(exc.UserError, match="does not match the arguments") as told:
        export(Branches(lambda x, y: True), (weft.ones(3), weft.ones(3)), dynamic_shapes=shapes)
    assert told.value.error_type is exc.UserErrorType.INVALID_INPUT


def test_only_modules_are_exported():
    with pytest.raises(ValueError, match="nn.Module"):
        export(lambda x: x, (weft.ones(1),))
    with pytest.raises(exc.UserError, match="tuple"):
        export(Net(), [weft.ones(1)])


def test_results_made_under_inference_mode():
    def masked(x, mask, y):
        with weft.inference_mode():
            x = x.clone()
            x[mask] = y
            return x

    given = weft.arange(4.0, requires_grad=True), weft.tensor([True, False, True, False]), weft.ones(2, requires_grad=True)
    graph, _ = weft._dynamo.export(masked)(*given)
    assert graph(*given).tolist() == masked(*given).tolist() == [1, 1, 1, 3]
