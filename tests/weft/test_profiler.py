"""profile, record_function, and schedules; nothing here depends on how long anything took."""

from __future__ import annotations

import json

import pytest

import weft as torch
from weft import nn
from weft.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule


def test_calls_are_noted_within_named_ranges(tmp_path):
    layer, x = nn.Linear(3, 4), torch.ones(2, 3)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        with record_function("forward"):
            y = layer(x).relu()
        y.sum().backward()
    by_name = {e.key: e for e in prof.key_averages()}
    assert by_name["aten::linear"].count == 1 and by_name["forward"].count == 1 and "aten::sum" in by_name
    (forward,) = [e for e in prof.events() if e.name == "forward"]
    assert [e.name for e in forward.cpu_children] == ["aten::linear", "aten::relu"]
    assert forward.self_cpu_time_total <= forward.cpu_time_total
    (linear,) = [e for e in prof.events() if e.name == "aten::linear"]
    assert linear.input_shapes == [[2, 3], [4, 3], [4]]
    table = prof.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_time_total", row_limit=5)
    assert "aten::linear" in table and "# of Calls" in table and "Self CPU time total" in table
    with pytest.raises(AttributeError, match="parrots"):
        prof.key_averages().table(sort_by="parrots")
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"forward", "aten::linear"} <= {e["name"] for e in events} and all(e["ph"] == "X" for e in events)


def test_results_are_those_without_a_profile_and_nothing_is_noted_after_it():
    x = torch.randn(4, 4, requires_grad=True)
    plain = torch.autograd.grad((x @ x).softmax(-1)[0].sum() + x.std(), x)[0]
    with torch.autograd.profiler.profile(profile_memory=True) as prof:
        seen = torch.autograd.grad((x @ x).softmax(-1)[0].sum() + x.std(), x)[0]
    count = len(prof.function_events)
    assert torch.equal(plain, seen) and count > 4
    x.exp()
    assert len(prof.function_events) == count and "Name" in str(prof)
    with torch.autograd.profiler.profile(enabled=False) as off:
        x.exp()
    assert len(off.function_events) == 0


def test_schedules():
    action = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=1)
    none, warm, record, save = ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
    assert [action(i) for i in range(7)] == [none, none, warm, record, save, none, none]
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(wait=0, warmup=0, active=0)
    records = []
    with profile(schedule=schedule(wait=1, warmup=0, active=2), on_trace_ready=lambda p: records.append(len(p.events()))) as prof:
        for i in range(6):
            torch.ones(1).mul(2) if i != 2 else None
            prof.step()
    assert records == [2, 4]


def test_ranges_are_captured_and_decorate():
    @record_function("double")
    def double(x):
        return x * 2

    def f(x):
        with torch.autograd.profiler.record_function("inside"):
            return double(x) + 1

    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).item() == 3
    with profile() as prof:
        f(torch.ones(1))
    assert [e.name for e in prof.events()][1:3] == ["inside", "double"]
