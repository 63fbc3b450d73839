"""Trains a character-level GPT on the source text of Python's standard library, eager and compiled, then generates text.

python -m benchmarks.gpt [--steps N] [--peer-python PATH]   the peer interpreter's torch runs the same job beside
python -m benchmarks.gpt --device cuda [--simulated]        a small one on a GPU, or on the simulated one: see gpt_device.py
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import gpt_device
from benchmarks.gpt_model import Config, Text, build, flops_per_step, initialise


class Trainer:
    """One model with its optimizer; `compiled` compiles the loss and the update (clipping and AdamW), in `mode`."""

    def __init__(self, torch: ModuleType, config: Config, compiled: bool, device: str = "cpu", mode: str | None = None) -> None:
        self.torch, self.config, self.device, self.mode = torch, config, device, mode
        self.model = build(torch, config)
        initialise(self.model, torch, seed=0)
        self.model.to(device)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01)
        self.parameters = parameters = list(self.model.parameters())
        model, F, clip = self.model, torch.nn.functional, torch.nn.utils.clip_grad_norm_

        def loss(tokens, targets):
            logits = model(tokens)
            return F.cross_entropy(logits.reshape(-1, config.vocabulary), targets.reshape(-1))

        def update():
            clip(parameters, 1.0)
            optimizer.step()

        self.optimizer = optimizer
        self.loss = torch.compile(loss, mode=mode) if compiled else loss
        self.update = torch.compile(update, mode=mode) if compiled else update

    def tensors(self, batch: tuple[np.ndarray, np.ndarray]) -> tuple[Any, Any]:
        """The tokens and targets of a batch, where the model is."""
        tokens, targets = (self.torch.from_numpy(a).to(self.device) for a in batch)
        return tokens, targets

    def advance(self, tokens: Any, targets: Any) -> Any:
        """A step of training; the loss stays a tensor."""
        value = self.loss(tokens, targets)
        value.backward()
        self.update()
        self.optimizer.zero_grad()
        return value.detach()

    def step(self, batch: tuple[np.ndarray, np.ndarray]) -> float:
        return float(self.advance(*self.tensors(batch)))

    def gradients(self, batch: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
        """The gradient of every parameter at `batch`; the parameters are left as they are."""
        self.loss(*self.tensors(batch)).backward()
        result = [p.grad.detach().cpu().numpy().copy() for p in self.parameters]
        self.optimizer.zero_grad()
        return result


class Progress:
    """A bar on a terminal; silent elsewhere."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.on = title, total, sys.stderr.isatty()

    def show(self, done: int, note: str = "") -> None:
        if self.on:
            filled = 30 * done // self.total
            end = "\n" if done == self.total else ""
            sys.stderr.write(
                f"\r{self.title:10s} [{'#' * filled}{'.' * (30 - filled)}] {done}/{self.total} {note:20s}{end}"
            )
            sys.stderr.flush()


def train(trainer: Trainer, batches: list, title: str) -> tuple[list[float], list[float]]:
    """(losses, seconds of each step)."""
    losses, seconds, bar = [], [], Progress(title, len(batches))
    for i, batch in enumerate(batches):
        start = time.perf_counter()
        losses.append(trainer.step(batch))
        seconds.append(time.perf_counter() - start)
        bar.show(i + 1, f"loss {losses[-1]:.3f}")
    return losses, seconds


def generate(trainer: Trainer, text: Text, count: int, compiled: bool) -> str:
    """`count` characters sampled one at a time from a growing, then sliding, context."""
    torch, config, model = trainer.torch, trainer.config, trainer.model

    def next_logits(tokens):
        return model(tokens)[:, -1, :]

    step = torch.compile(next_logits, mode=trainer.mode) if compiled else next_logits
    tokens = [int(t) for t in text.tokens[:2]]
    rng, bar = np.random.default_rng(0), Progress("generate", count)
    with torch.no_grad():
        for i in range(count):
            context = np.array([tokens[-config.context :]], np.int64)
            logits = step(torch.from_numpy(context).to(trainer.device)).cpu().numpy()[0].astype(np.float64) / 0.8
            weights = np.exp(logits - logits.max())
            tokens.append(int(rng.choice(len(weights), p=weights / weights.sum())))
            bar.show(i + 1)
    return text.decode(tokens)


def steady(seconds: list[float]) -> float:
    """Median seconds of a step once everything is compiled and warm."""
    return statistics.median(seconds[len(seconds) // 4 :])


def peer(python: str, steps: int) -> dict[str, Any]:
    """Runs this file's `run_peer` by another interpreter, which has torch."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    out = subprocess.run(
        [python, "-m", "benchmarks.gpt", "--as-peer", "--steps", str(steps)],
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(out.stdout.splitlines()[-1])


def run_peer(steps: int) -> None:
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    config, text, result = Config(), Text(), {}
    batches = text.batches(config, steps)
    for name in ("eager", "compiled"):
        start = time.perf_counter()
        trainer = Trainer(torch, config, name == "compiled")
        losses, seconds = train(trainer, batches, name)
        result[name] = {
            "losses": losses[:20],
            "step": steady(seconds),
            "first": seconds[0] + seconds[1],
            "total": time.perf_counter() - start,
        }
    print(json.dumps(result))


def gradient_difference(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    """The largest difference of any gradient, as a share of that gradient's largest entry."""
    return max(float(np.abs(x - y).max() / max(float(np.abs(y).max()), 1e-30)) for x, y in zip(a, b))


def interleaved(first: Trainer, second: Trainer, batches: list) -> tuple[float, float]:
    """Median seconds a step of both, taken in turns, so that what disturbs the machine disturbs both."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for batch in batches:
        for trainer, into in zip((first, second), seconds):
            start = time.perf_counter()
            trainer.step(batch)
            into.append(time.perf_counter() - start)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--steps", type=int, help="of training: 300, on a device 8")
    arguments.add_argument("--characters", type=int, help="to generate: 300, on a device 6")
    arguments.add_argument("--device", default="cpu", help="cpu or cuda")
    arguments.add_argument("--simulated", action="store_true", help="the device is the simulated one (tests/cuda/sim)")
    arguments.add_argument("--peer-python", metavar="PATH", help="an interpreter with torch, for ratios")
    arguments.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.device != "cpu":
        gpt_device.main(options.steps or 8, options.characters or 6, options.simulated)
        return
    options.steps, options.characters = options.steps or 300, options.characters or 300
    if options.as_peer:
        run_peer(options.steps)
        return
    with tempfile.TemporaryDirectory(prefix="weft-gpt-cache-") as cache:
        os.environ["WEFT_CACHE_DIR"] = cache  # empty: the compile times below are cold, then warm
        report(options)


def first_steps(torch: ModuleType, config: Config, batch: Any) -> float:
    """Seconds of a new compiled trainer's first two steps: the second compiles the update, once its state exists."""
    torch._dynamo.reset()
    trainer = Trainer(torch, config, True)
    start = time.perf_counter()
    trainer.step(batch)
    trainer.step(batch)
    return time.perf_counter() - start


def report(options: argparse.Namespace) -> None:
    import weft as torch
    from benchmarks import machine

    config, text = Config(), Text()
    batches, probe = text.batches(config, options.steps), text.batches(config, 1, seed=1)[0]
    print(
        f"GPT: {config.layers} layers, {config.width} wide, {config.heads} heads, context {config.context}, batch {config.batch}, "
        f"{sum(p.numel() for p in build(torch, config).parameters()):,} parameters; {len(text.tokens):,} characters of text"
    )

    cold = first_steps(torch, config, probe)
    counts = torch._dynamo.counters["graphs"], torch._dynamo.counters["breaks"], torch._inductor.counters["kernels"]
    warm = first_steps(torch, config, probe)
    torch._dynamo.reset()

    eager, compiled = Trainer(torch, config, False), Trainer(torch, config, True)
    difference = gradient_difference(compiled.gradients(probe), eager.gradients(probe))
    eager_losses, _ = train(eager, batches, "eager")
    compiled_losses, _ = train(compiled, batches, "compiled")
    print("\nstep   eager loss   compiled loss")
    for i in sorted({0, 1, 2, 5, 10, 19, *range(49, options.steps, 50), options.steps - 1}):
        if i < options.steps:
            print(f"{i:4d}   {eager_losses[i]:10.5f}   {compiled_losses[i]:13.5f}")
    first20 = max(abs(a - b) / abs(a) for a, b in zip(eager_losses[:20], compiled_losses[:20]))
    print(
        f"gradients at step 0 differ by at most {difference:.1e} of their largest entry; first 20 losses by {first20:.1e} relative"
    )
    print(f"loss: first {compiled_losses[0]:.4f}, last {compiled_losses[-1]:.4f} (eager {eager_losses[-1]:.4f})")

    eager_step, compiled_step = interleaved(eager, compiled, text.batches(config, 40, seed=2))
    can_measure = machine.compiler() is not None
    peak = machine.fma_peak(len(os.sched_getaffinity(0))) if can_measure else float("nan")
    tokens, flops = config.batch * config.context, flops_per_step(config)
    print(f"\n{machine.describe() if can_measure else 'no C++ compiler: the machine is not measured, and compiled runs eager'}")
    for name, seconds in (("eager", eager_step), ("compiled", compiled_step)):
        print(
            f"{name:9s} {seconds * 1e3:7.2f} ms a step   {tokens / seconds:9,.0f} tokens/s   "
            f"{flops / seconds / 1e9:6.1f} GFLOP/s   "
            f"{flops / seconds / peak:5.1%} of the FMA peak"
        )
    print(f"compiled is {eager_step / compiled_step:.2f}x eager; first two steps {cold:.2f} s cold, {warm:.2f} s warm")
    print("graphs {}, graph breaks {}, kernels {}".format(*counts))
    if options.peer_python:
        compare(options, eager_step, compiled_step)

    before = torch._dynamo.counters["recompilations"]
    sample = generate(compiled, text, options.characters, True)
    print(
        f"\ngenerated with {torch._dynamo.counters['recompilations'] - before} recompilation(s) as the sequence grew:\n{sample}\n"
    )
    from aten import _native

    print(
        f"peak memory: {_native.memory_stats()['peak_bytes'] / 2**20:.0f} MiB of tensors, "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB of the process"
    )


def compare(options: argparse.Namespace, eager_step: float, compiled_step: float) -> None:
    """The same job by the peer interpreter's torch, in a process of its own."""
    steps = min(options.steps, 60)
    theirs = peer(options.peer_python, steps)
    for name, ours in (("eager", eager_step), ("compiled", compiled_step)):
        seconds = theirs[name]["step"]
        print(
            f"torch {name:9s} {seconds * 1e3:7.2f} ms a step, first two steps {theirs[name]['first']:.2f} s; "
            f"weft {name} is {seconds / ours:.2f}x"
        )
    print(
        f"weft compiled is {theirs['eager']['step'] / compiled_step:.2f}x torch eager; torch's losses "
        + " ".join(f"{x:.4f}" for x in theirs["eager"]["losses"][:3])
    )


if __name__ == "__main__":
    main()
