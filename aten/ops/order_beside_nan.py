"""The order in which the C++ library's sort leaves numbers among which NaNs stand, by a comparison that none of them takes part in.

It says nothing that means something, but PyTorch's `mode` counts the runs in it. Beside `sort_beside_nan` (aten/native/sort.cpp),
which calls that sort, this is the same written out.
"""

from __future__ import annotations

_SHORT = 16  # so many are sorted by insertion


class _Sort:
    """Sorts the places of `values`; what is out of bounds is less than nothing, and nothing is less than it."""

    def __init__(self, values: list[float]):
        self.values, self.order = values, list(range(len(values)))

    def less(self, i: int, j: int) -> bool:
        inside = 0 <= i < len(self.order) and 0 <= j < len(self.order)
        return inside and self.values[self.order[i]] < self.values[self.order[j]]

    def swap(self, i: int, j: int) -> None:
        self.order[i], self.order[j] = self.order[j], self.order[i]

    def move(self, source: int, to: int) -> None:
        """An element before those that stand from `to` on."""
        self.order.insert(to, self.order.pop(source))

    def median_to(self, result: int, a: int, b: int, c: int) -> None:
        if self.less(a, b):
            self.swap(result, b if self.less(b, c) else c if self.less(a, c) else a)
        else:
            self.swap(result, a if self.less(a, c) else c if self.less(b, c) else b)

    def cut(self, first: int, last: int) -> int:
        """Elements from `first` on that are less than the median of three, and then the others."""
        self.median_to(first, first + 1, first + (last - first) // 2, last - 1)
        low, high = first + 1, last
        while True:
            while self.less(low, first):
                low += 1
            high -= 1
            while self.less(first, high):
                high -= 1
            if low >= high:
                return low
            self.swap(low, high)
            low += 1

    def parts(self, first: int, last: int, depth: int) -> None:
        while last - first > _SHORT:
            if depth == 0:  # (where the library goes on with a heap: for orders that are made for it)
                number = self.values.__getitem__
                self.order[first:last] = sorted(self.order[first:last], key=lambda p: (number(p) != number(p), number(p)))
                return
            depth -= 1
            middle = self.cut(first, last)
            self.parts(middle, last, depth)
            last = middle

    def insert(self, n: int) -> None:
        for i in range(1, n):
            if i < _SHORT and self.less(i, 0):
                self.move(i, 0)
                continue
            to = i
            while self.less(i, to - 1):
                to -= 1
            self.move(i, to)


def order_beside_nan(values: list[float]) -> list[int]:
    """The places of the values in that order."""
    sort, n = _Sort(values), len(values)
    sort.parts(0, n, 2 * (n.bit_length() - 1))
    sort.insert(n)
    return sort.order


__all__ = ["order_beside_nan"]
