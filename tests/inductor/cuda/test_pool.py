"""The processes that compile Triton functions: what becomes of requests when they, or one of them, end."""

from __future__ import annotations

import importlib.util

import pytest

from inductor.codegen.toolchain import DeviceCompileError
from inductor.cuda.pool import Pool

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton compiles for devices")

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def double(a, n, BLOCK: tl.constexpr):
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(a + x, tl.load(a + x, mask=x < n) * 2, mask=x < n)
"""


def request(source: str) -> dict:
    return {"source": source, "name": "double", "signature": {"a": "*fp32", "n": "i32"}, "constants": {"BLOCK": 128},
            "divisible": ["a"], "options": {"enable_fp_fusion": False}, "capability": 90, "driver": 0}  # fmt: skip


@pytest.fixture
def pool():
    made = Pool(2)
    yield made
    made.close()


def test_a_burst_of_large_requests_with_large_answers_is_answered(pool):
    large = "raise ValueError('x' * 500_000)\n#" + "y" * 500_000
    futures = [pool.submit(request(large)) for _ in range(12)]
    for future in futures:
        with pytest.raises(DeviceCompileError, match="ValueError: x{500000}"):
            future.result(60)


def test_a_worker_that_ends_is_replaced(pool, tmp_path):
    been = str(tmp_path / "been")
    ends_once = f"import os\nif not os.path.exists({been!r}):\n    open({been!r}, 'w').close()\n    os.kill(os.getpid(), 9)\n"
    image, metadata = pool.submit(request(ends_once + KERNEL)).result(60)
    assert image[:4] == b"\x7fELF" and metadata["name"] == "double"


def test_a_request_that_ends_every_worker_is_refused(pool):
    with pytest.raises(DeviceCompileError, match="SIGKILL"):
        pool.submit(request("import os\nos.kill(os.getpid(), 9)\n")).result(60)
    assert pool.submit(request(KERNEL)).result(60)[0][:4] == b"\x7fELF"


def test_a_server_that_ends_is_replaced(pool):
    waiting = pool.submit(request("import time\ntime.sleep(0.2)\n" + KERNEL))
    pool.process.kill()
    assert waiting.result(60)[0][:4] == b"\x7fELF"
    assert pool.submit(request(KERNEL)).result(60)[0][:4] == b"\x7fELF"
