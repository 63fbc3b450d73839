"""What each opcode does to the frame being traced: a table that the files of this folder fill, one family each."""

from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any

from dynamo.breaks import UNKNOWN_OPCODE, Unsupported
from dynamo.bytecode.instruction import VERSION, Instruction

PSEUDO = 256  # opcodes from here on exist only inside CPython's compiler


def unknown(frame, inst: Instruction) -> None:
    raise Unsupported(UNKNOWN_OPCODE, inst.name)


RULES: list[Callable[[Any, Instruction], None]] = [unknown] * PSEUDO


def opcode(*names: str, since: tuple[int, int] = (3, 11), until: tuple[int, int] = (3, 14)):
    """Declare the rule of opcodes: rule(frame, inst). `since` and `until` are the Python versions it holds for."""

    def declare(rule):
        for name in names:
            number = dis.opmap.get(name, PSEUDO)
            if since <= VERSION <= until and number < PSEUDO:
                if RULES[number] is not unknown:
                    raise ValueError(f"two rules for {name}")
                RULES[number] = rule
        return rule

    return declare


__all__ = ["RULES", "VERSION", "opcode"]
