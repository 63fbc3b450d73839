"""Small models written as PyTorch users write them: `import torch` and nothing of weft. `python -m benchmarks.models` runs them.

Each file defines `build()` -> (module, batch of inputs, loss) and `sizes()` -> three batches of other sizes, where
`module(*inputs)` gives the outputs and `loss(outputs, *inputs)` a scalar. What is random comes in as an input.
"""

from pathlib import Path

RUNNER = {"__init__", "__main__", "run", "compare", "phases"}
NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in RUNNER)
