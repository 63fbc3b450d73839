"""All programs on one side: `python -m benchmarks.capture.run --out FILE [--torch] [NAME …]`.

--torch: PyTorch itself; otherwise `import torch` means weft. Facts of every program go to FILE as JSON (see `measure`).
"""

import argparse
import importlib
import itertools
import json
import random
import time

import numpy as np

from benchmarks.capture import FILES, PROGRAMS

_draws = random.Random(0)
SIZES = [_draws.randint(4, 96) for _ in range(200)]
REPEATS = 7


def tensors(torch, program, n, grads):
    """The arguments for size n; floating ones are leaves that require grad if `grads`."""
    made = [torch.from_numpy(np.ascontiguousarray(a)) for a in program.inputs(n, np.random.default_rng(n))]
    if grads:
        for x in made:
            if x.is_floating_point():
                x.requires_grad_()
    return made


def leaves(torch, value):
    """The tensors of a nesting, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return list(itertools.chain.from_iterable(leaves(torch, part) for part in parts))


def results(torch, program, function, n):
    """The tensors of the result, and the gradients of the arguments."""
    args = tensors(torch, program, n, program.grads)
    out = leaves(torch, function(*args))
    found = [t.detach() for t in out]
    if program.grads:
        total = sum(t.square().sum() for t in out if t.requires_grad)
        total.backward()
        found += [a.grad for a in args if a.is_floating_point() and a.grad is not None]
    return found


def equal(torch, program, compiled, n):
    """Whether the compiled program gives what the plain one gives."""
    want, got = results(torch, program, program.function, n), results(torch, program, compiled, n)
    return len(want) == len(got) and all(near(torch, a, b) for a, b in zip(want, got))


def near(torch, want, got):
    """Whether tensors agree as sums of float32 in another order do: to a share of the largest value."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    finite = want[want.isfinite()] if want.is_floating_point() else want.new_zeros(0)
    largest = float(finite.abs().amax()) if finite.numel() else 0.0
    return torch.allclose(want, got, 2e-4, 2e-5 * max(largest, 1.0), equal_nan=True)


def operations(module):
    """The calls of a graph, and of the graphs of functions that it calls (bodies of loops, what is differentiated …)."""
    count = 0
    for node in module.graph.nodes:
        count += "call" in node.op
        inner = list(getattr(node.target, "graphs", {}).values())
        if node.op == "get_attr" and "." not in node.target:
            inner.append(getattr(module, node.target))
        count += sum(operations(body) for body in inner if hasattr(body, "graph"))
    return count


class Counting:
    """A backend that runs graphs as they are, and counts them and their calls. `quiet`: it gives the first results again."""

    def __init__(self, quiet=False):
        self.graphs = self.calls = 0
        self.quiet = quiet

    def __call__(self, graph, inputs):
        self.graphs += 1
        self.calls += operations(graph)
        if not self.quiet:
            return graph.forward
        known = graph.forward(*inputs)
        return lambda *inputs: known


def fastest(call):
    """Seconds of processor time, the least of several calls: others may use the machine."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def measure(torch, program):
    """equal: results and gradients, of the default backend. breaks: 0 where it compiles whole. compilations: over 200 sizes. ops.
    us an op: of capture. ns a call: of guards and all that is not the graph.
    """
    facts = {}
    torch._dynamo.reset()
    counting = Counting()
    compiled = torch.compile(program.function, backend=counting, fullgraph=True)
    for n in SIZES:
        compiled(*tensors(torch, program, n, False))
    facts["compilations"], facts["breaks"] = counting.graphs, 0
    torch._dynamo.reset()
    compiled = torch.compile(program.function, fullgraph=True)
    facts["equal"] = all(equal(torch, program, compiled, n) for n in (8, 13, 21))
    args = tensors(torch, program, 8, False)

    def first_call():
        torch._dynamo.reset()
        backend = Counting(quiet=True)
        torch.compile(program.function, backend=backend, fullgraph=True)(*args)
        facts["ops"] = backend.calls

    first_call()
    whole, plain = fastest(first_call), fastest(lambda: program.function(*args))
    facts["us an op"] = (whole - plain) * 1e6 / max(facts["ops"], 1)
    torch._dynamo.reset()
    quiet = torch.compile(program.function, backend=Counting(quiet=True), fullgraph=True)
    quiet(*args)

    def calls():
        for _ in range(300):
            quiet(*args)

    calls()
    facts["ns a call"] = fastest(calls) * 1e9 / 300
    return facts


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capture.run", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", required=True)
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args()
    if not options.torch:
        import weft  # here: the interpreter with PyTorch does not have it

        weft.as_torch()
    import torch  # here: only now is it known which

    for name in FILES:
        importlib.import_module(f"benchmarks.capture.{name}")
    rows = {}
    for name, program in PROGRAMS.items():
        if options.names and name not in options.names:
            continue
        try:
            rows[name] = measure(torch, program)
        except Exception as e:  # one program's failure is its row
            rows[name] = {"failure": f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"}
        with open(options.out, "w") as file:
            json.dump(rows, file)


if __name__ == "__main__":
    main()
