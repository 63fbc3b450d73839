"""The inputs that benchmarks.never_slower makes of small samples (benchmarks/conformance_cases.py)."""

import math

from benchmarks.conformance_cases import TARGET, grown_shapes


def test_no_input_outgrows_the_others():
    for form in ("sizes", "numbers", "rows", "batch"):
        for shapes in ([[100], [3, 3, 3]], [[3, 3], [3]], [[60], [2, 3, 2, 4]], [[5, 5], [5]]):
            for grown in grown_shapes(shapes, [4] * len(shapes), form, 1.0) or []:
                assert math.prod(grown) * 4 <= 1.1 * TARGET
