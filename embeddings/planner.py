"""The planner: from the number of passages and of those that pass the filter to the cheapest plan that is right.

The thresholds were measured by `benchmarks/scale.py` on two cores with AVX2 (docs/benchmarks.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ale_semantic.plans import PlanKind

# A scan of full-precision vectors takes 0.2 ms per 1,000 passages of 384 dimensions, so 10 ms here.
MOST_FLAT = 50_000
# A scan of 8-bit codes takes 40 ms a million passages and finds what an exact one finds; beyond this, inverted
# lists leave out a part of it.
MOST_CODES = 1_500_000
# Gathering a row takes about 1 us, however many others there are; a scan looks at the filter's bit of each, and takes
# a third of that for each that passes. Both took as long at 3,000 of 100,000 passages and at 10,000 of a million (for
# the ten best; for 800 at 7,000 and 16,000): the limit grows with the root of their number, as far as was measured.
MOST_GATHERED, GATHERED_GROWTH = 16_384, 10.0
# A query probes such a share of the inverted lists where all rows pass: of ten million, that finds 99.3 % of the ten
# best (a third 98.7 %), in a fifth more time than a third takes. The fewer pass, the farther off lie the nearest of
# them, so the share grows with the filter's narrowness: to 0.45 where 5 % pass, which finds 99.9 %.
LEAST_PROBED, PROBED_GROWTH = 0.4, 0.04


@dataclass(frozen=True, slots=True)
class Step:
    """What to do: the kind of search, and the share of the inverted lists to probe."""

    kind: PlanKind
    share: float = 1.0


def index_kind(passages: int) -> PlanKind:
    """Return the kind of index that so many passages ask for."""
    if passages <= MOST_FLAT:
        return PlanKind.FLAT
    return PlanKind.CODES if passages <= MOST_CODES else PlanKind.LISTS


def plan_search(kind: PlanKind, passages: int, passing: int) -> Step:
    """Choose how to search.

    Args:
        kind: the kind of index that is there.
        passages: all passages.
        passing: those that pass the filter.
    """
    if passing <= most_gathered(passages) and (passing < passages or kind is not PlanKind.FLAT):
        return Step(PlanKind.GATHER)
    if kind is not PlanKind.LISTS:
        return Step(kind)
    return Step(kind, min(1.0, LEAST_PROBED * (passages / passing) ** PROBED_GROWTH))


def most_gathered(passages: int) -> int:
    """Return up to how many passing rows are gathered, of so many passages."""
    return min(MOST_GATHERED, int(GATHERED_GROWTH * math.sqrt(passages)))


def list_count(passages: int) -> int:
    """Return how many inverted lists to make: the power of two below the square root of the passages."""
    return 1 << max(0, int(math.log2(max(1.0, math.sqrt(passages)))))
