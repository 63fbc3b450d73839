"""One side of `python -m benchmarks.hugging_face`, in the interpreter that has it: `… run FOLDER [--torch] [NAME …]`.

Under PyTorch each model writes its initial state, outputs and gradients into FOLDER; under weft it starts from that state, and adds
what it gives compiled. A line of JSON a model goes to the standard output.
"""

import argparse
import json
import os
import sys
import time
import traceback
from pathlib import Path

import numpy as np

from benchmarks.hugging_face.configurations import BREAKS, MODELS, arrays


def flat(value, name="output"):
    """The tensors of nested outputs, by name."""
    if hasattr(value, "items"):
        return {key: leaf for part, inner in value.items() for key, leaf in flat(inner, f"{name}.{part}").items()}
    if isinstance(value, (tuple, list)):
        return {key: leaf for i, inner in enumerate(value) for key, leaf in flat(inner, f"{name}.{i}").items()}
    return {name: value} if hasattr(value, "is_floating_point") and value.is_floating_point() else {}


def step(model, call, inputs):
    """(outputs, gradients of the mean of their squares), as arrays by name."""
    model.zero_grad()
    outputs = flat(call(**inputs))
    sum((value * value).mean() for value in outputs.values() if value.requires_grad).backward()
    gradients = {name: np.array(p.grad) for name, p in model.named_parameters() if p.grad is not None}
    return {name: value.detach().numpy() for name, value in outputs.items()}, gradients


def build(torch, name):
    """A model in evaluation mode (attention by its own code) and its inputs."""
    import transformers  # here: `torch` has been settled

    cls, config, settings, kinds = MODELS[name]
    torch.manual_seed(0)
    model = getattr(transformers, cls)(getattr(transformers, config)(**settings)).eval()
    return model, {key: torch.tensor(value) for key, value in arrays(kinds).items()}


def tagged(phase, found):
    return {f"{phase}/{key}": value for key, value in found.items()}


def under_torch(torch, name, file):
    model, inputs = build(torch, name)
    outputs, gradients = step(model, model, inputs)
    state = {key: value.detach().numpy() for key, value in model.state_dict().items()}
    np.savez(file, **tagged("state", state), **tagged("outputs", outputs), **tagged("gradients", gradients))
    return {}


def under_weft(torch, name, file):
    from benchmarks.models.compare import difference, of_phase

    with np.load(file) as stored:
        want = dict(stored)
    model, inputs = build(torch, name)
    model.load_state_dict({key: torch.tensor(value) for key, value in of_phase(want, "state").items()})
    facts = {}

    def compared(how, call):
        found = step(model, call, inputs)
        for phase, got in zip(("outputs", "gradients"), found):
            share, where = difference(got, of_phase(want, phase), phase)
            facts[f"{how}{phase}"] = share
            if share > 1:
                facts.setdefault("failures", []).append(f"{how}{phase}: {share:.2f} at {where}")

    compared("", model)
    began = time.perf_counter()
    compiled = torch.compile(model, fullgraph=name not in BREAKS)
    compared("compiled ", compiled)
    facts["first step s"] = time.perf_counter() - began
    compared("compiled ", compiled)
    return facts


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hugging_face.run", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    if not options.torch:
        import weft  # here: the interpreter with PyTorch does not have it

        weft.as_torch()
    import torch

    for name in options.names or MODELS:
        try:
            facts = (under_torch if options.torch else under_weft)(torch, name, options.folder / f"{name}.npz")
        except Exception as error:  # told in the model's row; the others go on
            traceback.print_exc()
            facts = {"failures": [f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"]}
        print(json.dumps({"name": name, **facts}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
