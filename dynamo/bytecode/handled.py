"""How many exceptions a frame is handling at an instruction, and what it keeps on its stack to leave the except blocks.

`PUSH_EXC_INFO` pushes what the thread was handling before; `POP_EXCEPT` makes the thread handle that again. The thread
alone knows what is handled, so an except block can be left from another frame that was handed the value.
"""

from __future__ import annotations

import types

from .. import _eval_frame
from .instruction import decode

ENTERED = "handled"  # in the record of a resume function that is entered inside except blocks: their stack positions


def handled_slots(code: types.CodeType) -> list[tuple[int, ...]]:
    """For each instruction, by except block that it is in, outermost first: the stack position of what was handled before."""
    decoded = decode(code)
    slots: list[tuple[int, ...] | None] = [None] * len(decoded)
    pending: list[tuple[int, tuple[int, ...]]] = [(0, _eval_frame.record(code).get(ENTERED, ()))]
    while pending:
        index, here = pending.pop()
        if index >= len(decoded) or slots[index] is not None:
            continue
        slots[index] = here
        handler = decoded.handler_of(index)
        if handler is not None:
            # The handler's stack is cut to its depth: what lies above is gone, with the except blocks it belongs to.
            pending.append((handler.target, tuple(s for s in here if s < handler.depth)))
        name = decoded.instructions[index].name
        if name == "PUSH_EXC_INFO":
            here = (*here, (decoded.depths[index] or 1) - 1)
        elif name == "POP_EXCEPT":
            here = here[:-1]
        pending += [(s, here) for s in decoded.successors(index)]
    return [s or () for s in slots]
