"""Sequences of different lengths as one tensor: padded, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import aten
from aten import Tensor
from aten.compiling import reads_numbers_of

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """data: the elements of all sequences by time, (sum of lengths, *); batch_sizes: how many sequences each step still has;
    sorted_indices: the order by length in which they stand, unsorted_indices: back."""

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is not None:
            if batch_sizes.device.type != "cpu":
                raise ValueError(
                    "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They "
                    "should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn."
                )
        else:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a pair of data and batch_sizes where batch_sizes is not given")
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def pin_memory(self) -> PackedSequence:
        pin = lambda t: t if t is None else t.pin_memory()
        return type(self)(pin(self.data), self.batch_sizes, pin(self.sorted_indices), pin(self.unsorted_indices))

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """data of another dtype or on another device; itself if it is so already."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}
        move = lambda t: t if t is None else t.to(data.device, **kwargs)
        return type(self)(data, self.batch_sizes, move(self.sorted_indices), move(self.unsorted_indices))

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(*args, device="cuda", **kwargs) if "device" not in kwargs else self.to(*args, **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(*args, device="cpu", **kwargs)

    def double(self) -> PackedSequence:
        return self.to(dtype=aten.float64)

    def float(self) -> PackedSequence:
        return self.to(dtype=aten.float32)

    def half(self) -> PackedSequence:
        return self.to(dtype=aten.float16)

    def long(self) -> PackedSequence:
        return self.to(dtype=aten.int64)

    def int(self) -> PackedSequence:
        return self.to(dtype=aten.int32)

    def short(self) -> PackedSequence:
        return self.to(dtype=aten.int16)

    def char(self) -> PackedSequence:
        return self.to(dtype=aten.int8)

    def byte(self) -> PackedSequence:
        return self.to(dtype=aten.uint8)

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    if permutation is None:
        return None
    places = aten.arange(0, permutation.numel(), device=permutation.device)
    return aten.empty_like(permutation).scatter_(0, permutation, places.to(permutation.dtype))


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs (T, N, *), or (N, T, *) with `batch_first`; lengths: those of the N sequences, falling if `enforce_sorted`.

    Raises RuntimeError for lengths that are not above 0, do not fall, or are not as many as sequences.
    """
    if not isinstance(lengths, Tensor):
        lengths = aten.as_tensor(lengths, dtype=aten.int64, device="cpu")
    return _pack_padded(input, lengths, batch_first, enforce_sorted)


@reads_numbers_of(1)
def _pack_padded(input: Tensor, lengths: Tensor, batch_first: bool, enforce_sorted: bool) -> PackedSequence:
    lengths = lengths if lengths.dtype is aten.int64 else lengths.to(aten.int64)
    if enforce_sorted:
        order = None
    else:
        lengths, order = aten.sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = _pack(input.transpose(0, 1) if batch_first else input, lengths)
    return PackedSequence(data, batch_sizes, order, None)


def _pack(input: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The rows that count, by time, and how many there are at each time. input: (T, N, *)."""
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    sizes = lengths.tolist()
    if len(sizes) != input.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={input.size(1)})"
        )
    if sizes[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(a < b for a, b in zip(sizes, sizes[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need "
            "ONNX exportability."
        )
    if sizes[0] > input.size(0):
        raise RuntimeError(f"Expected all lengths to be at most {input.size(0)}, the padded length, but got {sizes[0]}")
    live = [sum(1 for s in sizes if s > t) for t in range(sizes[0])]
    return aten.cat([input[t, :n] for t, n in enumerate(live)]), aten.tensor(live, dtype=aten.int64)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """(T, N, *), or (N, T, *) with `batch_first`, and the lengths. Raises ValueError for a total_length below the longest."""
    return _pad_packed(sequence.data, sequence.batch_sizes, sequence.unsorted_indices, batch_first, padding_value, total_length)


@reads_numbers_of(1)
def _pad_packed(
    data: Tensor, batch_sizes: Tensor, unsorted_indices: Tensor | None, batch_first: bool, padding_value: float, total_length: Any
) -> tuple[Tensor, Tensor]:
    live = batch_sizes.tolist()
    steps, longest = len(live), len(live)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        longest = total_length
    rows, feature = live[0], list(data.shape[1:])
    parts = [
        part if n == rows else aten.cat([part, data.new_full([rows - n, *feature], padding_value)])
        for part, n in zip(aten.split(data, live), live)
    ]
    padded = aten.stack(parts)
    if longest > steps:
        padded = aten.cat([padded, data.new_full([longest - steps, rows, *feature], padding_value)])
    lengths = aten.tensor([sum(1 for n in live if n > k) for k in range(rows)], dtype=aten.int64)
    padded = padded.transpose(0, 1) if batch_first else padded
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Tensors (L, *) as one of (longest, N, *), or (N, longest, *) with `batch_first`, padded at the right or the left."""
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"Padding side should be one of 'right' or 'left', but got {padding_side}")
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    for i, s in enumerate(sequences):
        if not isinstance(s, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(s).__name__}")
    longest = max(s.size(0) for s in sequences)

    def padded(s: Tensor) -> Tensor:
        if s.size(0) == longest:
            return s
        extra = s.new_full([longest - s.size(0), *s.shape[1:]], padding_value)
        return aten.cat([s, extra] if padding_side == "right" else [extra, s])

    return aten.stack([padded(s) for s in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences that `pad_sequence` padded."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:n] for row, n in zip(rows.unbind(0), lengths.tolist())]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors (L, *), longest first if `enforce_sorted`."""
    lengths = aten.as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that `pack_sequence` packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)

