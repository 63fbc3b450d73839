"""Whether two runs of a model say the same, to the accuracy of float32, and by how much they differ."""

import json

import numpy as np

OUTPUTS = 2e-5  # of the largest magnitude of the array
GRADIENTS = 2e-4  # of the largest magnitude of the array, or 1e-5 of the largest of all of them: some are nothing but rounding
TOLERANCES = {"outputs": OUTPUTS, "sizes": OUTPUTS, "gradients": GRADIENTS, "training": GRADIENTS}
PHASES = tuple(TOLERANCES)


def load(path):
    with np.load(path) as stored:
        arrays = dict(stored)
    return arrays, json.loads(str(arrays.pop("facts")))


def of_phase(arrays, phase):
    return {key.removeprefix(f"{phase}/"): value for key, value in arrays.items() if key.startswith(f"{phase}/")}


def difference(got, want, phase):
    """(the largest difference as a share of what is tolerated, its array's name): above 1 is a disagreement."""
    if got.keys() != want.keys():
        return float("inf"), ", ".join(sorted(got.keys() ^ want.keys()))
    worst, where = 0.0, ""
    tolerance = TOLERANCES[phase]
    floor = 1e-6 if tolerance is OUTPUTS else 1e-5 * max((magnitude(value) for value in want.values()), default=0.0) + 1e-7
    for name, b in want.items():
        a = got[name]
        if a.shape != b.shape or a.dtype != b.dtype or not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return float("inf"), f"{name}: {a.dtype}{list(a.shape)}, {b.dtype}{list(b.shape)}"
        finite = np.isfinite(b)
        apart = np.abs(widened(a[finite]) - widened(b[finite])).max(initial=0.0)
        share = float(apart / (tolerance * magnitude(b) + floor))
        if share > worst:
            worst, where = share, name
    return worst, where


def magnitude(value):
    finite = np.isfinite(value)
    return float(np.abs(widened(value[finite])).max(initial=0.0))


def widened(value):
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
