"""weft._logging.set_logs: channels by PyTorch's names; and devices that there are no kernels for."""

from __future__ import annotations

import logging

import pytest

import weft
from aten import logs, settings


@pytest.fixture(autouse=True)
def as_before():
    before = settings.logs
    yield
    logs.set_logs(before)


def told() -> set[str]:
    return {name for name in logs.CHANNELS if logs.get(name).on}


def test_channels_are_told_by_pytorchs_names(capfd):
    import weft._logging as names

    names.set_logs(dynamo=logging.DEBUG, output_code=True, bytecode=True, aot=None)
    assert told() == {"graph", "guards", "breaks", "recompiles", "kernels"}
    names.set_logs(dynamo=logging.INFO, inductor=logging.WARNING)
    assert told() == {"breaks", "recompiles"}
    names.set_logs(modules={"graph_code": True, "inductor": 30})
    assert told() == {"graph"}
    weft._dynamo.reset()
    weft.compile(lambda x: x + 1, backend="eager")(weft.ones(2))
    assert "[graph]" in capfd.readouterr().err
    names.set_logs(all=logging.DEBUG)
    assert told() == set(logs.CHANNELS)
    names.set_logs()
    assert not told()


def test_what_is_no_name_level_or_flag_is_refused():
    set_logs = weft._logging.set_logs
    with pytest.raises(TypeError, match="unexpected keyword argument 'nope'"):
        set_logs(nope=True)
    with pytest.raises(ValueError, match="Unrecognized log level for log dynamo: True, valid level values are: 50,40"):
        set_logs(dynamo=True)
    with pytest.raises(ValueError, match="Expected bool to enable artifact graph, received 3"):
        set_logs(graph=3)
    with pytest.raises(ValueError, match="Unrecognized log or artifact name passed to set_logs: nope"):
        set_logs(modules={"nope": 10})


def test_devices_without_kernels_say_so():
    assert not weft.xpu.is_available() and weft.xpu.memory_allocated() == 0 and not weft.xpu.is_bf16_supported()
    with pytest.raises(AssertionError, match="synchronize: there is no XPU device here"):
        weft.xpu.synchronize()
    with pytest.raises(RuntimeError, match="current_allocated_memory: there is no MPS device here"):
        weft.mps.current_allocated_memory()
