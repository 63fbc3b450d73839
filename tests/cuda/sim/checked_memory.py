"""The loads and stores of a kernel: every address is compared with what is alive at that point of the stream, then moved to
the bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from triton.runtime import interpreter

from tests.cuda.sim import faithful

ILLEGAL_ADDRESS, MISALIGNED_ADDRESS, LAUNCH_FAILED = 700, 716, 719
LOAD, STORE, ATOMIC = "load", "store", "atomic"


class Fault(Exception):
    """What a GPU would stop at."""

    code = ILLEGAL_ADDRESS


class Misaligned(Fault):
    code = MISALIGNED_ADDRESS


class CheckedMemory:
    """The ranges [start, end) that are alive, in order. With `races` a byte that one program of a launch writes and another reads
    or writes is a fault too."""

    def __init__(self, live: np.ndarray, delta: int, races: bool) -> None:
        self.starts = live[:, 0].copy()
        self.ends = np.append(live[:, 0] + live[:, 1], np.uint64(0))  # what lies before the first range ends at 0
        self.delta = np.int64(delta).astype(np.uint64)
        self.users: dict[int, np.ndarray] | None = {} if races else None

    def at(self, ptrs: Any, mask: Any, way: str) -> Any:
        """The same pointers, to the bytes themselves. Raises Fault."""
        size = max(1, ptrs.get_element_ty().primitive_bitwidth // 8)
        used = ptrs.data[np.broadcast_to(mask, ptrs.data.shape)]
        if used.size:
            block = np.searchsorted(self.starts, used, "right") - 1
            bad = (block < 0) | (used + np.uint64(size) > self.ends[block])
            if bad.any():
                raise Fault(f"{way} of {size} bytes at {self._place(int(used[bad][0]))} ({int(bad.sum())} such lanes)")
            if (used % np.uint64(size)).any():
                raise Misaligned(f"misaligned {way} of {size} bytes at 0x{int(used[0]):x}")
            if self.users is not None:
                self._note(used, size, block, way)
        return interpreter.TensorHandle(ptrs.data + self.delta, ptrs.dtype)

    def _place(self, p: int) -> str:
        before = [(int(s), int(e)) for s, e in zip(self.starts, self.ends) if s <= p]
        if not before:
            return f"0x{p:x}, before every allocation"
        start, end = before[-1]
        return f"0x{p:x}, {p - start} bytes into one of {end - start}"

    def _note(self, used: np.ndarray, size: int, block: np.ndarray, way: str) -> None:
        """Per byte: who wrote it (-1 nobody, -2 atomics) and who read it (-1 nobody, -3 several)."""
        me = hash(interpreter.interpreter_builder.grid_idx) & 0x7FFFFFFF
        for k in np.unique(block):
            n = int(self.ends[k] - self.starts[k])
            writers, readers = self.users.setdefault(int(k), np.full((2, n), -1, np.int64))
            at = ((used[block == k] - self.starts[k]).astype(np.int64)[:, None] + np.arange(size)).ravel()
            w, r = writers[at], readers[at]
            other = (w != -1) & (w != me) & (w != -2 if way == ATOMIC else True)
            if way != LOAD:
                other |= (r != -1) & (r != me)
            if other.any():
                raise Fault(f"race: byte {int(at[other][0])} of an allocation is used by another program of this launch, too")
            if way == LOAD:
                readers[at] = np.where((r == -1) | (r == me), me, -3)
            else:
                writers[at] = -2 if way == ATOMIC else me

    def install(self, scope: Any) -> None:
        """Puts the checks before the interpreter's loads and stores until the scope is restored."""
        builder, at = interpreter.InterpreterBuilder, self.at
        scope.set_attr(builder, "create_masked_load", lambda s, p, m, o, *_, **__: faithful.load(s, at(p, m.data, LOAD), m, o))
        scope.set_attr(builder, "create_masked_store", lambda s, p, v, m, *_, **__: faithful.store(s, at(p, m.data, STORE), v, m))
        scope.set_attr(
            builder, "create_atomic_rmw", lambda s, op, p, v, m, *a: faithful.atomic(s, op, at(p, m.data, ATOMIC), v, m, *a)
        )
        scope.set_attr(builder, "create_atomic_cas", lambda s, p, x, v, *a: faithful.cas(s, at(p, True, ATOMIC), x, v, *a))
