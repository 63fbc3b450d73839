"""Small models written as PyTorch users write them: `import torch` and nothing of weft. `python -m benchmarks.models` runs them.

Each file defines `build()` -> (module, batch of inputs, loss) and `sizes()` -> three batches of other sizes, where
`module(*inputs)` gives the outputs and `loss(outputs, *inputs)` a scalar. What is random comes in as an input.
"""

from pathlib import Path

RUNNER = {"__init__", "__main__", "run", "compare", "phases"}
# Where a graph breaks, under PyTorch too, and why: these are compiled with fullgraph=False.
BREAKS = {
    "dcgan": "requires_grad_() of the discriminator's parameters changes what is recorded",
    "graph_layers": "bincount has as many counts as the data say",
    "neural_ode": "the adjoint calls autograd.grad inside the backward of an autograd.Function",
    "seq2seq": "pack_padded_sequence reads the lengths into Python",
}
NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in RUNNER)
