"""Random programs in which data decides sizes, with gradients: compiled whole equals eager in values, sizes, dtypes and gradients.

A gradient that eager does not have counts as one of 0: a part of the graph gives one to all that it reads.

python -m tests.fuzz.staged --seconds 3600 --seed 0     seeds 0, 1, 2 … until the time is over
python -m tests.fuzz.staged --only 1234                 one seed
"""

from __future__ import annotations

import linecache
import random
import sys
from collections.abc import Callable

import weft
from tests.fuzz import drive

# What makes a matrix `v` of a matrix `a`, and a vector of one; `b` and `c` are vectors, `k` a number, `u` a function.
MATRICES = """
v = a[a.sum(1) > k]
v = a[(a[:, 0] > 0).nonzero().squeeze(1)]
v = weft.repeat_interleave(a, (a[:, 1].detach().abs() * 2).long().clamp(max=3), dim=0)
v = a[: int((a > 0).sum().item()) % 5 + 1]
_, i = weft.unique(a[:, 2].detach().round().long(), return_inverse=True); v = weft.zeros(int(i.max()) + 1, 4).index_add(0, i, a)
v = a.u() * 0.5
v = a.u() * w.sum()
v = a.clone(); v[v > 0.5] = w.mean()
v = a * 1; v[v[:, 0] > 0] *= w
v = a.index_select(0, weft.arange(a.shape[0]).flip(0))
v = weft.zeros_like(x).index_put(((a[:, 3] > 0).nonzero().squeeze(1) % x.shape[0],), w, accumulate=True)
v = a.sum(0, keepdim=True) * a
v = a * ((a > 0).sum().item() + 1)
v = a @ weft.diag(w)
v = a - a.mean(0, keepdim=True)
""".strip().splitlines()
VECTORS = """
v = a[a > k]
i, j = weft.where(a > 0); v = a[i, j] * w[j]
v = weft.masked_select(a, a < 0.2)
v = b.u().cumsum(0)
v = weft.cat([b, c, a.flatten()])
""".strip().splitlines()


def text_of(seed: int) -> str:
    """The program of a seed: `def f(x, w)` of a matrix with 4 columns and a vector of 4."""
    draw = random.Random(seed)
    lines, matrices, vectors = [], ["x"], ["w"]
    for number in range(draw.randint(3, 7)):
        name = f"v{number}"
        of_matrix = draw.random() < 0.75
        line = draw.choice(MATRICES if of_matrix else VECTORS)
        letters = {"v": name, "a": draw.choice(matrices), "b": draw.choice(vectors), "c": draw.choice(vectors)}
        letters |= {"k": draw.choice(["0", "0.3", "-0.5", "100"]), "u": draw.choice(["sin", "tanh", "sigmoid", "square"])}
        words = [letters.get(word, word) for word in _words(line)]
        lines += "".join(words).split("; ")
        (matrices if of_matrix else vectors).append(name)
    made = [v for v in (*matrices, *vectors) if v not in ("x", "w")]
    lines.append(f"return {', '.join(draw.sample(made, min(len(made), draw.randint(1, 3))))},")
    return "def f(x, w):\n" + "".join(f"    {line}\n" for line in lines)


def _words(line: str) -> list[str]:
    found = [""]
    for char in line:
        same = bool(found[-1]) and (char.isalnum() or char == "_") == (found[-1][-1].isalnum() or found[-1][-1] == "_")
        found[-1:] = [found[-1] + char] if same else [found[-1], char]
    return found


def run(f: Callable, rows: int, seed: int) -> list:
    """The results and the gradients of both arguments."""
    draws = weft.Generator().manual_seed(seed * 100 + rows)
    x, w = (weft.randn(*sizes, generator=draws).requires_grad_() for sizes in ((rows, 4), (4,)))
    out = f(x, w)
    needed = [o.square().sum() * (i + 1) for i, o in enumerate(out) if o.requires_grad]
    if needed:
        sum(needed).backward()
    return [o.detach() for o in out] + [weft.zeros_like(t) if t.grad is None else t.grad for t in (x, w)]


def equal(want: weft.Tensor, got: weft.Tensor) -> bool:
    largest = float(want.abs().amax()) if want.numel() else 0.0
    return want.shape == got.shape and want.dtype == got.dtype and weft.allclose(want, got, 1e-3, 1e-4 * max(1.0, largest))


def check(seed: int) -> tuple[str, str] | str | None:
    text = text_of(seed)
    name, space = f"<staged {seed}>", {"weft": weft}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), space)
    f = space["f"]
    weft.compiler.reset()
    compiled, ran = weft.compile(f, fullgraph=True), False
    for rows in (5, 8, 3):
        try:
            want = run(f, rows, seed)
        except (RuntimeError, IndexError):  # the largest of no elements
            continue
        ran = True
        try:
            got = run(compiled, rows, seed)
        except Exception as e:  # reported with its program
            return f"seed {seed}", f"{rows} rows: {type(e).__name__}: {str(e)[:400]}\n{text}"
        if len(want) != len(got) or not all(map(equal, want, got)):
            return f"seed {seed}", f"{rows} rows differ\n{text}"
    return None if ran else drive.VOID


if __name__ == "__main__":
    sys.exit(drive.main("tests.fuzz.staged", check))
