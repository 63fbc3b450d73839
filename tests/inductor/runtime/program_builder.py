"""Short ways to write Programs by hand."""

from inductor.ir.program import Program
from inductor.ir.steps import Buffer, Input
from inductor.ir.values import ValueTable


class Builder:
    """Writes a Program over contiguous buffers; sizes are ints, or values made by `symbol`."""

    def __init__(self):
        self.t = ValueTable()
        self.inputs_, self.buffers, self.later = [], [], []

    def value(self, n):
        """An int is a constant; a str is already a value: "#3"."""
        return int(n[1:]) if isinstance(n, str) else self.t.const(n)

    def op(self, name, *args):
        return f"#{self.t.add(name, *(self.value(a) for a in args))}"

    def size(self, i, d):
        return f"#{self.t.add('size', i, d)}"

    def layout(self, sizes):
        strides, n = [], 1
        for s in reversed(sizes):
            strides.insert(0, self.value(n))
            n = self.op("mul", n, s) if isinstance(n, str) or isinstance(s, str) else n * s
        return tuple(self.value(s) for s in sizes), tuple(strides)

    def input(self, *sizes, dtype="float32"):
        """A tensor argument; returns its buffer."""
        self.inputs_.append(Input("tensor", dtype, *self.layout(sizes)))
        self.buffers.append(Buffer("input", dtype, base=len(self.inputs_) - 1))
        return len(self.buffers) - 1

    def number(self, kind="int"):
        self.inputs_.append(Input(kind))
        return f"#{self.t.add('input', len(self.inputs_) - 1)}"

    def buffer(self, kind, *sizes, dtype="float32", base=-1, offset=None):
        offset = -1 if offset is None else self.value(offset)
        self.buffers.append(Buffer(kind, dtype, *self.layout(sizes), base=base, offset=offset))
        return len(self.buffers) - 1

    def program(self, steps, outputs, **rest):
        for name in ("arena", "cost"):
            if name in rest:
                rest[name] = self.value(rest[name])
        return Program(
            self.inputs_, self.t.values, self.buffers, steps, outputs, rest.pop("prologue", len(self.t.values)), **rest
        )
