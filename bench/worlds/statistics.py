"""Numbers over runs, each with its n and an interval: completion, pass^k, and robustness R = min(E1, E2, E3) / E0.

Everything here is pure. A run that the infrastructure failed, or that was invalid, is in no rate; it is counted beside.
Several attempts at one task are not independent, so intervals treat the task as the unit: Wilson's interval is taken
at the effective number of runs, and the bootstrap draws whole tasks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb, sqrt
from typing import Literal, TypeVar

import msgspec

from simulator.errors import UsageError
from simulator.randomness import Stream

Z95 = 1.959963984540054
RESAMPLES = 1000
LEVELS = ("E0", "E1", "E2", "E3")
FAULTY = LEVELS[1:]
Result = Literal["passed", "failed", "infra_error", "invalid"]
T = TypeVar("T")


class Score(msgspec.Struct, frozen=True):
    """What the statistics know of one run. `scale` names a model's size, `family` and `generation` its line and version;
    they are empty where nobody said."""

    agent: str
    simulator: str
    task: str
    level: str
    attempt: int
    result: Result
    industry: str = ""
    scale: str = ""
    family: str = ""
    generation: str = ""
    effort: str = ""

    @property
    def scored(self) -> bool:
        """Whether it counts in a rate."""
        return self.result in ("passed", "failed")


class Interval(msgspec.Struct, frozen=True):
    """A 95 % interval, both ends included."""

    low: float
    high: float


class Rate(msgspec.Struct, frozen=True):
    """A share of runs that passed. `runs` is its n; `effective` is the n its interval is taken at. `value` and `interval`
    are None where nothing was scored. `infra` and `invalid` runs are in none of these."""

    passed: int
    runs: int
    tasks: int
    effective: float = 0.0
    interval: Interval | None = None
    infra: int = 0
    invalid: int = 0

    @property
    def value(self) -> float | None:
        """The share, 0 to 1."""
        return self.passed / self.runs if self.runs else None


class Estimate(msgspec.Struct, frozen=True):
    """A number that is no plain share, over `tasks` tasks, with a bootstrap interval. `value` is None where it cannot be
    given; `note` then says why, and otherwise what a reader must know beside it."""

    value: float | None
    tasks: int
    interval: Interval | None = None
    note: str = ""


class Robustness(msgspec.Struct, frozen=True):
    """R and what it is made of: the rate under each level over the tasks scored under all four. `worst` is the level that
    the minimum stands at, the first of equals; `left_out` counts tasks not scored under every level."""

    r: Estimate
    rates: dict[str, Rate]
    worst: str = ""
    left_out: int = 0


def wilson(passed: float, runs: float, z: float = Z95) -> Interval:
    """Return Wilson's score interval for a share of `passed` in `runs` (which may be effective numbers).

    Raises:
        UsageError: `runs` is not above 0, or `passed` is not within it.
    """
    if runs <= 0 or not 0 <= passed <= runs:
        raise UsageError(f"No interval for {passed} of {runs}: it needs 0 <= passed <= runs and at least one run.")
    share, square = passed / runs, z * z
    middle = (share + square / (2 * runs)) / (1 + square / runs)
    half = z / (1 + square / runs) * sqrt(share * (1 - share) / runs + square / (4 * runs * runs))
    return Interval(0.0 if passed == 0 else max(0.0, middle - half), 1.0 if passed == runs else min(1.0, middle + half))


def rate(scores: Iterable[Score]) -> Rate:
    """Return the completion rate of `scores`, with what was no score counted beside."""
    everything = list(scores)
    tasks = passes(everything)
    apart = Counter(one.result for one in everything if not one.scored)
    infra, invalid = apart["infra_error"], apart["invalid"]
    runs = sum(n for _, n in tasks.values())
    if not runs:
        return Rate(0, 0, 0, infra=infra, invalid=invalid)
    passed = sum(c for c, _ in tasks.values())
    effective = effective_runs(list(tasks.values()))
    return Rate(
        passed, runs, len(tasks), effective, wilson(passed / runs * effective, effective), infra=infra, invalid=invalid
    )


def passes(scores: Iterable[Score]) -> dict[str, tuple[int, int]]:
    """Return for each task (runs passed, runs scored), in order of task; tasks without a scored run are absent."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in scores:
        if one.scored:
            found[one.task][0] += one.result == "passed"
            found[one.task][1] += 1
    return {task: (c, n) for task, (c, n) in sorted(found.items())}


def effective_runs(tasks: Sequence[tuple[int, int]]) -> float:
    """Return how many independent runs these are worth, between the number of tasks and the number of runs.

    The design effect of a share over clusters (Kish): its variance with the task as the unit, over that of independent
    runs. Where the share is 0 or 1, or there is one task, it cannot be told, and the number of tasks is taken.
    """
    runs, passed = sum(n for _, n in tasks), sum(c for c, _ in tasks)
    if runs == len(tasks):
        return float(runs)
    if len(tasks) < 2 or passed in (0, runs):
        return float(len(tasks))
    share = Fraction(passed, runs)
    between = sum((c - share * n) ** 2 for c, n in tasks) * Fraction(len(tasks), len(tasks) - 1) / runs**2
    if between == 0:
        return float(runs)
    independent = share * (1 - share) / runs
    return float(min(Fraction(runs), max(Fraction(len(tasks)), runs * independent / between)))


def by(scores: Iterable[Score], key: Callable[[Score], str]) -> dict[str, Rate]:
    """Return the rate of each group, groups in order; runs whose `key` is empty belong to none."""
    groups: dict[str, list[Score]] = defaultdict(list)
    for one in scores:
        if name := key(one):
            groups[name].append(one)
    return {name: rate(groups[name]) for name in sorted(groups)}


def pass_hat(scores: Iterable[Score], k: int, seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """Return pass^k: the chance that k attempts at a task, drawn without replacement, all pass; the mean over tasks.

    A task with c passes in n scored runs gives C(c, k) / C(n, k). Tasks with fewer than k scored runs are left out.

    Raises:
        UsageError: `k` is below 1.
    """
    if k < 1:
        raise UsageError(f"pass^{k} means nothing; k is at least 1.")
    found = passes(scores)
    shares = [Fraction(comb(c, k), comb(n, k)) for c, n in found.values() if n >= k]
    short = len(found) - len(shares)
    note = f"{short} tasks with fewer than {k} scored runs left out" if short else ""
    if not shares:
        return Estimate(None, 0, note=note or "no scored runs")
    draws = [float(mean(sample)) for sample in resampled(shares, seed, f"pass^{k}", resamples)]
    return Estimate(float(mean(shares)), len(shares), percentiles(draws), note)


def robustness(scores: Iterable[Score], seed: int = 0, resamples: int = RESAMPLES) -> Robustness:
    """Return R = min(E1, E2, E3) / E0 over the tasks that have a scored run under all four levels.

    The interval is a bootstrap over those tasks. A resample in which nothing passes under E0 has no R and is left out;
    the note says how many. The minimum of three noisy rates is a little low on average; the interval shows it too.
    """
    everything = list(scores)
    levels = {level: [one for one in everything if one.level == level] for level in LEVELS}
    found = {level: passes(levels[level]) for level in LEVELS}
    missing = [level for level in LEVELS if not found[level]]
    common = sorted(set.intersection(*(set(found[level]) for level in LEVELS)))
    known = {task for level in LEVELS for task in found[level]}
    inside = set(common)
    rates = {level: rate(one for one in levels[level] if one.task in inside or not one.scored) for level in LEVELS}
    left_out = len(known) - len(common)
    if missing or not common:
        why = f"no scored runs under {', '.join(missing)}" if missing else "no task was scored under all four levels"
        return Robustness(Estimate(None, 0, note=why), rates, left_out=left_out)
    rows = [tuple(found[level][task] for level in LEVELS) for task in common]
    value = _ratio(rows)
    if value is None:
        return Robustness(Estimate(None, len(common), note="nothing passed under E0"), rates, left_out=left_out)
    drawn = [_ratio(sample) for sample in resampled(rows, seed, "R", resamples)]
    draws = [float(one) for one in drawn if one is not None]
    lost = len(drawn) - len(draws)
    note = f"{lost} of {len(drawn)} resamples had nothing passed under E0" if lost else ""
    if draws and min(draws) == max(draws):
        note = "; ".join(filter(None, (note, "all resamples alike: the interval has no width and tells nothing")))
    worst = min(FAULTY, key=lambda level: Fraction(rates[level].passed, rates[level].runs))
    return Robustness(Estimate(float(value), len(common), percentiles(draws), note), rates, worst, left_out)


def _ratio(rows: Sequence[tuple[tuple[int, int], ...]]) -> Fraction | None:
    shares = [Fraction(sum(row[at][0] for row in rows), sum(row[at][1] for row in rows)) for at in range(len(LEVELS))]
    return min(shares[1:]) / shares[0] if shares[0] else None


def mean(values: Sequence[Fraction]) -> Fraction:
    """Return the exact mean of at least one value."""
    return sum(values, Fraction(0)) / len(values)


def resampled(items: Sequence[T], seed: int, name: str, resamples: int) -> Iterable[list[T]]:
    """Yield `resamples` draws of `len(items)` items with replacement, from the counter stream (`seed`, `name`)."""
    stream, size = Stream(seed, "bootstrap", name), len(items)
    for _ in range(resamples):
        yield [items[stream.below(size)] for _ in range(size)]


def percentiles(draws: Sequence[float], share: float = 0.95) -> Interval | None:
    """Return the central `share` of `draws` (nearest rank), None for no draws."""
    if not draws:
        return None
    ranked, tail = sorted(draws), (1 - share) / 2
    low = min(len(ranked) - 1, int(tail * len(ranked)))
    return Interval(ranked[low], ranked[len(ranked) - 1 - low])


def tally(scores: Iterable[Score]) -> Mapping[Result, int]:
    """Return how many runs ended in which way."""
    return Counter(one.result for one in scores)
