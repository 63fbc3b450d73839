"""Which modules a process loads: every one costs each start of every program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aten import registry
from aten.ops import on_demand as families
from aten.ops.promised import PROMISED
from dynamo import on_demand, trace_rules
from dynamo.interpreter import trace  # noqa: F401
from dynamo.variables import builtin, construct, track

ROOT = Path(__file__).parents[2]
NAMES = "\nimport sys\nprint(*sys.modules)"
COMPILED = """
import weft
f = weft.compile(lambda x: x + 1)
assert float(f(weft.ones(16)).sum()) == 32
"""
# Compilers, and what a graph without symbols, gradients and control flow has no use for.
NEITHER = """
sympy triton sysconfig random string pkgutil signal importlib.metadata weft.nn weft.optim weft.export weft.distributions weft.func
aten.aot.joint aten.aot.partition aten.aot.pipeline aten.aot.runtime aten.aot.stages aten.transforms.batching
aten.transforms.forward_mode aten.transforms.reverse_mode aten.transforms.trace
aten.transforms.tracer aten.chains aten.replay aten.ops.indexing_batch aten.ops.library_batch aten.sparse.tensor
aten.scalar.composites dataclasses traceback aten.higher_order aten.library aten.declared_ops
dynamo.backends.debugging dynamo.inventory
""".split()
NOT_COMPILED = """
inductor.compile inductor.lowering inductor.schedule inductor.passes inductor.codegen.cpp dynamo.variables.native
dynamo.variables.wrapper
dynamo.variables.ndarray dynamo.variables.transforms dynamo.variables.control_flow dynamo.variables.gradients
""".split()
NEVER = """
dataclasses ml_dtypes sympy triton aten.higher_order aten.transforms.batching aten.transforms.forward_mode aten.ops.linalg
aten.ops.random aten.ops.special inductor.lowering.sorting inductor.lowering.attention inductor.lowering.scan
""".split()
NOT_IMPORTED = "dynamo.convert_frame dynamo.interpreter.trace inductor.entry inductor.loading weft.compilation json".split()


def loaded(program: str, cache: str | None = None) -> set[str]:
    environment = {**os.environ, "WEFT_CACHE_DIR": cache} if cache else None
    command = [sys.executable, "-c", program + NAMES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    return set(done.stdout.splitlines()[-1].split())


@pytest.fixture(scope="module")
def imported():
    return loaded("import weft")


@pytest.fixture(scope="module")
def cached():
    loaded(COMPILED)
    return loaded(COMPILED)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return loaded(COMPILED, str(tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("name", NEITHER + NOT_IMPORTED)
def test_importing_weft_does_not_load(name, imported):
    assert name not in imported


@pytest.mark.parametrize("name", NEITHER + NOT_COMPILED)
def test_a_static_graph_from_the_cache_does_not_load(name, cached):
    assert name not in cached


@pytest.mark.parametrize("name", NEVER)
def test_compiling_a_static_graph_does_not_load(name, compiled):
    assert name not in compiled


def test_layers_without_options_do_not_load_dataclasses():
    names = loaded("import weft\nweft.nn.Linear(2, 3)")
    assert not {"dataclasses", "signal", "traceback", "weft.nn.linear_cross_entropy"} & names
    loaded("""
import typing, weft
assert typing.get_type_hints(weft.nn.functional.linear_cross_entropy)["options"] == weft.nn.LinearCrossEntropyOptions | None
from weft.nn import *
assert LinearCrossEntropyOptions(batch_chunk_size=3).batch_chunk_size == 3
""")


def test_how_many_files_a_start_loads(imported, cached, compiled):
    """Each takes a third of a millisecond. Where one more is needed by most programs, the number is raised."""
    own = ("aten", "dynamo", "inductor", "weft")
    counts = [sum(m.partition(".")[0] in own for m in names) for names in (imported, cached, compiled)]
    assert counts[0] <= 100 and counts[1] <= 245 and counts[2] <= 323, counts


def test_what_imports_made_is_old_and_not_frozen():
    program = """
import gc
walked, frozen = [], gc.get_freeze_count()  # (Python 3.12 starts with some, and weft thaws nothing)
gc.callbacks.append(lambda phase, info: phase == "start" and walked.append(len(gc.get_objects(info["generation"]))))
import weft
f = weft.compile(lambda x: x + 1)
assert gc.isenabled() and gc.get_freeze_count() == frozen and (frozen or max(walked, default=0) < 10000), walked
f(weft.ones(16))
del f
class Cycle: pass
one = Cycle(); one.me = one
import weakref
dead = weakref.ref(one)
del one
gc.collect()
assert dead() is None
"""
    loaded(program)
    loaded("import gc; gc.freeze(); n = gc.get_freeze_count()\nimport weft\nassert gc.get_freeze_count() >= n - 100")


def test_families_of_ops_are_loaded_when_one_of_their_ops_is_asked_for():
    program = """
import sys, threading, weft
from aten.ops.promised import PROMISED
assert not [f for f in PROMISED if "aten.ops." + f in sys.modules]
x = weft.linspace(0, 1, 4)
together = [threading.Thread(target=lambda: found.append(x.softmax(0))) for _ in range(8)]
found = []
for thread in together: thread.start()
for thread in together: thread.join()
assert len(found) == 8 and all(weft.equal(f, found[0]) for f in found)
assert "aten.ops.softmax" in sys.modules and "aten.ops.bessel" not in sys.modules
assert weft.special.i1 is not None and weft.Tensor.cumsum is weft.cumsum
y = weft.ones(3, requires_grad=True)
weft.cumsum(y, 0).sum().backward()
assert y.grad.tolist() == [3, 2, 1]
"""
    assert not {"aten.ops.bessel", "aten.ops.fft", "aten.ops.linalg", "aten.ops.conv"} & loaded(program)


def test_ops_of_a_family_that_is_not_loaded_are_captured():
    program = """
import weft, dynamo
from dynamo import convert_frame
class Holder:
    act = weft.nn.functional.gelu
def f(x):
    return weft.erfinv(Holder.act(x).softmax(0)).cumsum(0) + getattr(x, "lgamma")()
compiled = weft.compile(f, backend="eager", fullgraph=True)
x = weft.linspace(0.1, 1, 4)
assert weft.equal(compiled(x), f(x)) and weft.equal(compiled(x), f(x))
assert convert_frame.counters["frames"] == 1 and convert_frame.counters["breaks"] == 0
"""
    loaded(program)


def test_what_families_declare_is_what_was_promised():
    done = subprocess.run([sys.executable, "-m", "tests.aten.promised_ops", "--show"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    text = (ROOT / "aten" / "ops" / "promised.py").read_text()
    assert text == done.stdout, "run `python -m tests.aten.promised_ops`"


def test_every_family_is_imported_or_promised_and_all_ops_have_what_they_declare():
    package = (ROOT / "aten" / "ops" / "__init__.py").read_text()
    helpers = {"__init__", "accumulate", "batching", "closed", "factorizations", "formats", "methods", "pieces", "promised"}
    helpers |= {"array_loops", "no_halves", "order_beside_nan"}
    helpers |= {"by_definition", "random_ends", "indexing_batch", "library_batch"}  # the last two for aten/transforms/batching.py
    for path in (ROOT / "aten" / "ops").glob("*.py"):
        assert path.stem in helpers or path.stem in PROMISED or f"    {path.stem},\n" in package, path.stem
    for family in PROMISED:
        families.load(family)
    assert not [name for name, op in registry.items() if op.promised]


def test_every_rule_on_demand_is_loaded_before_it_is_asked_for():
    on_demand.load_all()
    tables = [{id(o): (o, rule) for o, rule in table.items()} for table in (track.TABLE, construct.CLASSES, builtin.FUNCTIONS)]
    for table in [trace_rules._handlers, *tables]:
        for value, rule in table.values():
            part = rule.__module__.rpartition(".")[2]
            users = [m for m, parts in on_demand.OF_MODULE.items() if part in parts]
            module = getattr(value, "__module__", None)
            if users and part != "ndarray_functions" and type(module) is str:
                assert any(module == m or module.startswith(m + ".") for m in users), f"{value} is not of {users}"


def test_every_file_of_variables_is_loaded_by_something():
    on_demand.load_all()
    files = {path.stem for path in (ROOT / "dynamo" / "variables").glob("*.py")} - {"__init__"}
    assert files <= {name.rpartition(".")[2] for name in sys.modules if name.startswith("dynamo.variables.")}


def test_rules_that_are_loaded_all_at_once_are_those_loaded_on_demand():
    program = """
import numpy as np
import weft
from dynamo import on_demand
on_demand.load_all()
a = np.arange(6.0).reshape(2, 3)
assert np.array_equal(weft.compile(np.flip, backend="eager", fullgraph=True)(a), np.flip(a))
assert np.array_equal(weft.compile(lambda a: np.flip(a)[::-1], backend="eager", fullgraph=True)(a), np.flip(a)[::-1])
"""
    loaded(program)


def test_who_imports_a_family_may_ask_for_another_while_a_third_waits():
    program = """
import threading
from importlib import _bootstrap
import weft
from aten.op import registry
imports = _bootstrap._get_module_lock("aten.ops.fft")
asks = threading.Thread(target=lambda: registry["fft_c2c"].declaration, daemon=True)
imports.acquire()  # as if this thread imported the file
asks.start()
asks.join(0.3)
assert asks.is_alive()
other = threading.Thread(target=lambda: registry["special_bessel_j0"].declaration, daemon=True)
other.start()
other.join(10)
assert not other.is_alive()
imports.release()
asks.join(30)
assert not asks.is_alive()
"""
    loaded(program)


def test_files_that_every_start_loads_evaluate_few_annotations():
    program = """
import types, gc, weft
aliases = [o for o in gc.get_objects() if type(o) is types.GenericAlias and "typing.Any" in repr(o) and "numpy" not in repr(o)]
assert len(aliases) < 150, len(aliases)
"""
    loaded(program)
