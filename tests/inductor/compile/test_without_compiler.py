"""A whole program in a process of its own: without a compiler, and with a cache that cannot be used."""

import os
import subprocess
import sys

import pytest

TRAIN = """
import weft
weft.manual_seed(0)
model = weft.nn.Sequential(weft.nn.Linear(4, 8), weft.nn.GELU(), weft.nn.Linear(8, 1))
optimizer = weft.optim.SGD(model.parameters(), lr=0.1)
loss = weft.compile(lambda x: (model(x) - x.sum(-1, keepdim=True)).square().mean())
losses = []
for step in range(12):
    value = loss(weft.randn((16, 4)))
    value.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(value.item())
assert losses[-1] < losses[0], losses
import inductor
print(inductor.counters["compiles"], inductor.counters["cache_hits"], losses[-1])
"""


def run(cache, **environment):
    """(what it printed, its warnings) of a fresh process that trains for some steps."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    environment = {**os.environ, "PYTHONPATH": root, "WEFT_CACHE_DIR": str(cache), "WEFT_STRICT": "1", **environment}
    done = subprocess.run([sys.executable, "-c", TRAIN], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    compiles, hits, loss = done.stdout.split()
    return int(compiles), int(hits), float(loss), [line for line in done.stderr.splitlines() if "Warning" in line]


def test_training_goes_on_without_a_compiler(tmp_path):
    compiled = run(tmp_path / "a")
    eager = run(tmp_path / "b", PATH=str(tmp_path))
    assert compiled[0] == 2 and compiled[3] == []
    assert eager[0] == 0 and len(eager[3]) == 1 and "no C++ compiler" in eager[3][0] and "Install g++" in eager[3][0]
    assert compiled[2] == pytest.approx(eager[2], rel=1e-4)


def test_a_second_process_compiles_nothing_and_a_damaged_cache_costs_one_warning(tmp_path):
    first, second = run(tmp_path / "cache"), run(tmp_path / "cache")
    assert first[:2] == (2, 0) and second[:2] == (0, 1) and first[2] == second[2]
    for folder in ("entries", "objects"):
        for name in os.listdir(tmp_path / "cache" / folder):
            path = tmp_path / "cache" / folder / name
            path.write_bytes(path.read_bytes()[:-100])
    third = run(tmp_path / "cache")
    assert third[:2] == (2, 0) and third[2] == first[2]
    assert len(third[3]) == 1 and "damaged" in third[3][0]
    assert run(tmp_path / "cache")[:2] == (0, 1)


def test_a_cache_of_another_user_is_not_touched(tmp_path):
    run(tmp_path / "cache")
    os.chmod(tmp_path / "cache", 0o777)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    compiles, hits, _, warnings = run(tmp_path / "cache")
    assert (compiles, hits) == (2, 0) and len(warnings) == 1 and "written by others" in warnings[0]
    assert before == {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
