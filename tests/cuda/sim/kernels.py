"""What an image stands for: a Triton function with the signature it was compiled for."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

SIZES = {"i1": 1, "i8": 1, "u1": 1, "u8": 1, "i16": 2, "u16": 2, "fp16": 2, "bf16": 2, "i32": 4, "u32": 4, "fp32": 4}
_FORMATS = {"i1": "?", "u1": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q",
            "fp16": "e", "fp32": "f", "fp64": "d"}  # fmt: skip


class Kernel:
    """One kernel of an image.

    fn: the JITFunction; signature ("*fp32", "i32", "constexpr" by name, in the function's order), constants and attrs
    ({(position,): [["tt.divisibility", 16]]}) as ASTSource takes them; num_warps and shared as the metadata say.
    """

    def __init__(
        self,
        fn: Any,
        signature: Mapping[str, str],
        constants: Mapping[str, Any] | None = None,
        attrs: Mapping[tuple[int, ...], Any] | None = None,
        num_warps: int = 4,
        shared: int = 0,
    ) -> None:
        self.fn, self.signature, self.num_warps, self.shared = fn, dict(signature), num_warps, shared
        self.constants = {fn.arg_names[n[0]] if isinstance(n, tuple) else n: v for n, v in (constants or {}).items()}
        self.divisible = [fn.arg_names[at[0]] for at, facts in (attrs or {}).items() if ["tt.divisibility", 16] in facts]
        self.kinds = [(n, k) for n, k in self.signature.items() if k != "constexpr"]
        self.sizes = [8 if k[0] == "*" else SIZES.get(k, 8) for _, k in self.kinds] + [8, 8]  # and the scratch pointers

    def values(self, params: list[bytes]) -> dict[str, Any]:
        """What a launch passed, by name."""
        return {name: _number(kind, data) for (name, kind), data in zip(self.kinds, params)}


def _number(kind: str, data: bytes) -> Any:
    if kind[0] == "*":
        return struct.unpack("<Q", data)[0]
    if kind == "bf16":
        return struct.unpack("<f", b"\0\0" + data)[0]
    return struct.unpack("<" + _FORMATS[kind], data)[0]


def cubin_params(image: bytes) -> dict[str, list[int]]:
    """The kernels of a cubin, with the sizes of their parameters, from its .nv.info sections."""
    sections, entry, count, names = struct.unpack_from("<Q", image, 40)[0], *struct.unpack_from("<HHH", image, 58)
    heads = [struct.unpack_from("<IIQQQQ", image, sections + k * entry) for k in range(count)]
    strings = image[heads[names][4] : heads[names][4] + heads[names][5]]
    found = {}
    for name, _, _, _, offset, size in heads:
        text = strings[name : strings.index(b"\0", name)].decode()
        if not text.startswith(".nv.info."):
            continue
        at, params = offset, {}
        while at < offset + size:
            form, kind, length = struct.unpack_from("<BBH", image, at)
            if form == 4 and kind == 0x17:  # KPARAM_INFO: index, ordinal, offset, size in bits 18 and up
                _, ordinal, _, flags = struct.unpack_from("<IHHI", image, at + 4)
                params[ordinal] = flags >> 18
            at += 4 + (length if form == 4 else 0)
        found[text.removeprefix(".nv.info.")] = [params[k] for k in sorted(params)]
    return found
