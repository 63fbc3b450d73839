"""Exported programs in files: the graph as text in JSON, the tensors as safetensors, in one file."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from typing import Any

import aten
from aten import pytree
from aten.fx import printer, reader
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.subgraph import SubGraph
from aten.symbolic.shape_env import ShapeEnv
from weft import serialization
from weft.export.constraints import ValueRange
from weft.export.exported_program import ExportedProgram
from weft.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

VERSION = 2
_KINDS: dict[str, Any] = {"tuple": tuple, "list": list, "dict": dict, "OrderedDict": OrderedDict, "NoneType": type(None)}


def save(ep: ExportedProgram, f: str | os.PathLike | Any, *, extra_files: dict[str, str] | None = None) -> None:
    """Write a program to the path or binary file `f`. extra_files: texts kept beside it.

    Raises TypeError for programs whose arguments or results have containers other than tuples, lists and dicts.
    """
    in_spec, out_spec, names = ep.structure
    subgraphs: dict[str, Any] = {}
    text = {
        "version": VERSION,
        "graph": _text(ep.graph, subgraphs), "subgraphs": subgraphs,
        "inputs": [[s.kind.name, _argument(s.arg), s.target, s.persistent] for s in ep.graph_signature.input_specs],
        "outputs": [[s.kind.name, _argument(s.arg), s.target] for s in ep.graph_signature.output_specs],
        "in_spec": _spec(in_spec), "out_spec": _spec(out_spec), "names": names, "symbols": ep.symbol_names,
        "ranges": {n: [low, None if high == float("inf") else high] for n, (low, high) in ep.range_constraints.items()},
        "stacks": {n.name: list(n.meta["nn_module_stack"].items()) for n in ep.graph.nodes if "nn_module_stack" in n.meta},
        "hints": {n: ep.graph.shape_env.hints[n] for n in ep.range_constraints if n in ep.graph.shape_env.hints},
    }  # fmt: skip
    serialization.save(
        {
            "program": json.dumps(text), "state": dict(ep.state_dict), "constants": dict(ep.constants),
            "extra": dict(extra_files or {}),
        },
        f,
    )  # fmt: skip


def load(f: str | os.PathLike | Any, *, extra_files: dict[str, str] | None = None) -> ExportedProgram:
    """The program that `save` wrote. extra_files: filled with the texts that were kept under its keys.

    Raises ValueError for other files.
    """
    found = serialization.load(f)
    if not isinstance(found, dict) or "program" not in found:
        raise ValueError(f"load: {getattr(f, 'name', f)!r} has no exported program")
    text = json.loads(found["program"])
    if text["version"] != VERSION:
        raise ValueError(f"load: the program has format {text['version']}, and this version reads {VERSION}")
    env = ShapeEnv()
    ranges = {}
    for name, (low, high) in text["ranges"].items():
        kind = "int" if name.startswith("s") else "float"
        env.symbol(name, text["hints"].get(name, 2), low, high, kind)
        ranges[name] = ValueRange(low, float("inf") if high is None else high)
    known: dict[str, Any] = {}
    for name, form in text["subgraphs"].items():  # inner ones come first
        known[name] = SubGraph(GraphModule(None, _parse(form["graph"], env, known)), form["takes"])
    graph = _parse(text["graph"], env, known)
    for node in graph.nodes:
        if node.name in text["stacks"]:
            node.meta["nn_module_stack"] = {key: tuple(call) for key, call in text["stacks"][node.name]}
    inputs = [InputSpec(InputKind[kind], _read_argument(a), target, saved) for kind, a, target, saved in text["inputs"]]
    outputs = [OutputSpec(OutputKind[kind], _read_argument(a), target) for kind, a, target in text["outputs"]]
    for name in extra_files or {}:
        if name in found["extra"]:
            extra_files[name] = found["extra"][name]  # type: ignore[index]
    return ExportedProgram(
        graph, ExportGraphSignature(inputs, outputs), found["state"], found["constants"], ranges,
        (_read_spec(text["in_spec"]), _read_spec(text["out_spec"]), text["names"]), text["symbols"],
    )  # fmt: skip


class _Name(str):
    """Stands for a sub-graph in the text of a graph."""


def _text(graph: Graph, subgraphs: dict[str, Any]) -> str:
    """The text of a graph, whose sub-graphs are noted by name."""
    named = Graph()
    named.shape_env = graph.shape_env
    named.output(named.graph_copy(graph, {}))

    def name_of(a: Any) -> Any:
        if isinstance(a, SubGraph):
            inner = _text(a.module.graph, subgraphs)
            if any(n.op == "get_attr" for n in a.module.graph.nodes):
                raise TypeError("save: a branch or loop of the program brings tensors of its own")
            name = f"<subgraph {len(subgraphs)}>"
            subgraphs[name] = {"graph": inner, "takes": list(a.takes)}
            return _Name(name)
        if type(a) in (tuple, list):
            return type(a)([name_of(x) for x in a])
        return a

    for node in named.nodes:
        if any(isinstance(a, SubGraph) for a in node.args):
            node.args = name_of(node.args)
    return printer.text(named)


def _parse(text: str, env: ShapeEnv, subgraphs: dict[str, Any]) -> Graph:
    graph = reader.parse(text, env)
    for node in graph.nodes:
        if any(a in subgraphs for a in node.args if isinstance(a, str)):
            node.args = tuple([subgraphs.get(a, a) if isinstance(a, str) else a for a in node.args])
    return graph


def _argument(arg: TensorArgument | ConstantArgument) -> list:
    if isinstance(arg, TensorArgument):
        return [arg.name]
    value = arg.value
    if value is not None and type(value) not in (bool, int, float, str):
        value = {"repr": str(value)}
    return [arg.name, value]


def _read_argument(form: list) -> TensorArgument | ConstantArgument:
    if len(form) == 1:
        return TensorArgument(form[0])
    name, value = form
    if isinstance(value, dict):  # a dtype, say
        value = getattr(aten, value["repr"].rpartition(".")[2], value["repr"])
    return ConstantArgument(name, value)


def _spec(spec: pytree.Spec) -> Any:
    if spec.kind is None:
        return None
    if spec.kind.__name__ not in _KINDS or _KINDS[spec.kind.__name__] is not spec.kind:
        raise TypeError(f"save: a {spec.kind.__name__} among the arguments or results: only tuples, lists and dicts are saved")
    return [spec.kind.__name__, None if spec.context is None else list(spec.context), [_spec(c) for c in spec.children]]


def _read_spec(form: Any) -> pytree.Spec:
    if form is None:
        return pytree.LEAF
    kind, context, children = form
    read = tuple([_read_spec(c) for c in children])
    return pytree.Spec(_KINDS[kind], None if context is None else tuple(context), read, sum(c.num_leaves for c in read))
