"""How long a training step of a small model takes eager beside PyTorch eager: forward, backward and optimizer, on one thread.

python -m benchmarks.eager_training --peer-python PATH [--seconds S]

PATH is a Python in which torch can be imported. Each library holds the same models in a process of its own; they go in turns, and
the least time of each counts. Models of a few thousand parameters: what is measured is what a call costs. The status is not 0 if
a step is slower than the peer's.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.libraries import Library, answer, mean  # noqa: E402  (the peer runs this file by its path)

WARM, STEPS = 20, 20  # steps before the first turn; in a turn


def _image(torch: Any) -> tuple[Any, Any, Any]:
    nn = torch.nn
    layers = []
    for inputs, outputs in ((3, 8), (8, 16)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    return model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), torch.randn(4, 3, 12, 12)


def _rows(torch: Any) -> tuple[Any, Any, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.LayerNorm(64), nn.Linear(64, 10))
    return model, torch.optim.AdamW(model.parameters(), 1e-3), torch.randn(4, 32)


def _attention(torch: Any) -> tuple[Any, Any, Any]:
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = nn.Sequential(layer, nn.Flatten(), nn.Linear(6 * 32, 10))
    return model, torch.optim.Adam(model.parameters(), 1e-3), torch.randn(4, 6, 32)


def _recurrent(torch: Any) -> tuple[Any, Any, Any]:
    nn = torch.nn

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0][:, -1])

    model = Last()
    return model, torch.optim.RMSprop(model.parameters(), 1e-3), torch.randn(4, 7, 16)


MODELS: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {
    "convolutions, SGD": _image,
    "MLP, AdamW": _rows,
    "transformer layer, Adam": _attention,
    "LSTM, RMSprop": _recurrent,
}


def _step(torch: Any, name: str) -> Callable[[], None]:
    torch.manual_seed(0)
    model, optimizer, x = MODELS[name](torch)
    target = torch.randint(0, 10, (4,))

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    return step


def work(library: str) -> None:
    """Answer questions on standard input, one a line."""
    if library == "weft":
        import weft as torch
    else:
        import torch
    torch.set_num_threads(1)
    steps: dict[str, Callable[[], None]] = {}

    def reply(ask: dict) -> float:
        if ask["name"] not in steps:
            steps[ask["name"]] = _step(torch, ask["name"])
            for _ in range(WARM):
                steps[ask["name"]]()
        step, start = steps[ask["name"]], time.perf_counter()
        for _ in range(STEPS):
            step()
        return (time.perf_counter() - start) / STEPS

    answer(reply)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", help="a Python with torch")
    parser.add_argument("--seconds", type=float, default=1.0, help="for a model")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return 0
    command = [__file__, "--work"]
    libraries = [Library([python, *command, name]) for python, name in ((sys.executable, "weft"), (options.peer_python, "torch"))]
    ratios = []
    for name in MODELS:
        best, end = [math.inf, math.inf], time.perf_counter() + options.seconds
        while time.perf_counter() < end or math.inf in best:
            for k, library in enumerate(libraries):
                best[k] = min(best[k], library.ask(name=name))
        ratios.append(best[0] / best[1])
        print(f"{ratios[-1]:6.2f}x  {name:26} {best[0] * 1e6:8.0f} / {best[1] * 1e6:8.0f} us a step")
    for library in libraries:
        library.end()
    print(f"geometric mean {mean(ratios):.2f}x")
    return int(max(ratios) > 1)


if __name__ == "__main__":
    sys.exit(main())
