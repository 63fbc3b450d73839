"""A line search for the strong Wolfe conditions (Nocedal, Wright, Numerical Optimization, algorithms 3.5 and 3.6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from aten import Tensor

SUFFICIENT, CURVATURE, TOO_SMALL = 1e-4, 0.9, 1e-9


class Point(NamedTuple):
    """What is known of the function at step t: its value, gradient, and slope along the direction."""

    t: Any
    value: float
    gradient: Tensor
    slope: Any


def _cubic_minimum(a: Point, b: Point, low: Any, high: Any) -> Any:
    """Where the cubic through both points' values and slopes is least, kept in [low, high]."""
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(
    at: Callable[[Any], tuple[float, Tensor]], t: Any, d: Tensor, value: float, g: Tensor, slope: Any, limit: int
) -> tuple[float, Tensor, Any, int]:
    """(value, gradient, t, evaluations) at a step t along `d` with enough decrease and a flat enough slope.

    at(t): value and gradient there. value, g, slope: those at 0. limit: evaluations after the first, at most.
    """
    slope = float(slope)

    def point(t: Any) -> Point:
        value, gradient = at(t)
        return Point(t, value, gradient, float(gradient.dot(d)))

    def too_high(p: Point) -> bool:
        return p.value > value + SUFFICIENT * float(p.t) * slope

    def flat(p: Point) -> bool:
        return abs(p.slope) <= -CURVATURE * slope

    before, here = Point(0, value, g, slope), point(t)
    done, tries = False, 0
    bracket = [Point(0, value, g, slope), here]
    while tries < limit:
        if too_high(here) or (tries > 1 and here.value >= before.value) or (not flat(here) and here.slope >= 0):
            bracket = [before, here]
            break
        if flat(here):
            return here.value, here.gradient, here.t, tries + 1
        t = _cubic_minimum(before, here, here.t + 0.01 * (here.t - before.t), here.t * 10)
        before, here = here, point(t)
        tries += 1
        bracket = [Point(0, value, g, slope), here]
    low, high = (0, 1) if bracket[0].value <= bracket[1].value else (1, 0)
    width, stuck = float(d.abs().max()), False
    while not done and tries < limit and abs(bracket[1].t - bracket[0].t) * width >= TOO_SMALL:
        left, right = sorted((bracket[0].t, bracket[1].t))
        t = _cubic_minimum(bracket[0], bracket[1], left, right)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:  # close to an end: the second time in a row away from it
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = point(t)
        tries += 1
        if too_high(new) or new.value >= bracket[low].value:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].value <= bracket[1].value else (1, 0)
        else:
            if flat(new):
                done = True
            elif new.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
    best = bracket[low]
    return best.value, best.gradient, best.t, tries + 1
