"""Do simulators agree? The matrix of agents and simulators, agreement of their rankings, and ensembles of them.

The rule for ties in a pair of agents: ordered alike by both simulators, or tied under both, counts 1; tied under one
alone counts one half, which is what breaking the tie by a coin would give on average; ordered oppositely counts 0.
Rates are compared as exact fractions, so a tie is never a matter of rounding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import msgspec

from bench.worlds.statistics import (
    RESAMPLES,
    Estimate,
    Interval,
    Rate,
    Result,
    Score,
    passes,
    percentiles,
    rate,
    resampled,
)
from simulator.errors import UsageError

Cell = tuple[str, str]
"""(agent, simulator)."""


class Matrix(msgspec.Struct, frozen=True):
    """A rate for each agent under each simulator. `cells[agent][simulator]`; a pair that was never run has no entry."""

    agents: tuple[str, ...]
    simulators: tuple[str, ...]
    cells: dict[str, dict[str, Rate]]
    means: dict[str, float]
    """For each simulator the mean of its agents' rates, over the agents that every simulator has scored."""


class Agreement(msgspec.Struct, frozen=True):
    """How two simulators order the same agents. `pairs` is the n; `share` is (alike + half_ties / 2) / pairs."""

    first: str
    second: str
    pairs: int
    alike: int
    half_ties: int
    opposed: int
    share: float | None
    tasks: int = 0
    interval: Interval | None = None
    note: str = ""


class Ensemble(msgspec.Struct, frozen=True):
    """An agent's rate when a run counts as passed only if at least `needed` of `size` simulators pass it.

    `undecided` runs are those where the simulators that gave a score do not settle it; they are in no rate.
    """

    agent: str
    needed: int
    size: int
    rate: Rate
    undecided: int


def matrix(scores: Iterable[Score]) -> Matrix:
    """Return the rates of all (agent, simulator) pairs that have a run."""
    groups: dict[Cell, list[Score]] = defaultdict(list)
    for one in scores:
        groups[one.agent, one.simulator].append(one)
    agents, simulators = (tuple(sorted({cell[at] for cell in groups})) for at in (0, 1))
    cells = {a: {s: rate(groups[a, s]) for s in simulators if (a, s) in groups} for a in agents}
    full = [a for a in agents if all(s in cells[a] and cells[a][s].runs for s in simulators)]
    means = (
        {s: sum(cells[a][s].passed / cells[a][s].runs for a in full) / len(full) for s in simulators} if full else {}
    )
    return Matrix(agents, simulators, cells, means)


def compare(first: Mapping[str, Fraction], second: Mapping[str, Fraction]) -> tuple[int, int, int]:
    """Return (alike, tied under one alone, opposed) over all pairs of the agents that both tables have."""
    alike = half = opposed = 0
    for a, b in combinations(sorted(set(first) & set(second)), 2):
        one, two = _sign(first[a] - first[b]), _sign(second[a] - second[b])
        alike += one == two
        half += (one == 0) != (two == 0)
        opposed += one * two < 0
    return alike, half, opposed


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


def share_of(counts: tuple[int, int, int]) -> Fraction | None:
    """Return the agreement of `compare`'s counts, None where there is no pair."""
    alike, half, opposed = counts
    pairs = alike + half + opposed
    return (alike + Fraction(half, 2)) / pairs if pairs else None


def agreement(scores: Iterable[Score], first: str, second: str, seed: int = 0, resamples: int = RESAMPLES) -> Agreement:
    """Return the pairwise ranking agreement of two simulators, with a bootstrap interval over tasks.

    Only agents that both simulators have scored take part, and only tasks scored for every such agent under both, so
    that no pair is compared on different tasks. (A task is a task under one fault level: E0 and E2 of it are two.)
    """
    found = {s: _by_agent(scores_of) for s, scores_of in _split(scores, (first, second)).items()}
    agents = sorted(set(found[first]) & set(found[second]))
    columns = [found[s][a] for s in (first, second) for a in agents]
    tasks = sorted(set.intersection(*(set(column) for column in columns))) if columns else []
    known = {task for column in columns for task in column}
    if len(agents) < 2 or not tasks:
        why = "fewer than two agents were scored by both" if len(agents) < 2 else "no task was scored in every cell"
        return Agreement(first, second, 0, 0, 0, 0, None, len(tasks), note=why)
    counts = _counts(found, (first, second), agents, tasks)
    draws = [
        float(share_of(_counts(found, (first, second), agents, sample)) or 0)
        for sample in resampled(tasks, seed, f"agreement\x1f{first}\x1f{second}", resamples)
    ]
    lost = len(known) - len(tasks)
    note = f"{lost} tasks not scored in every cell left out" if lost else ""
    share = share_of(counts)
    return Agreement(
        first,
        second,
        sum(counts),
        *counts,
        None if share is None else float(share),
        len(tasks),
        percentiles(draws),
        note,
    )


def agreements(scores: Iterable[Score], seed: int = 0, resamples: int = RESAMPLES) -> list[Agreement]:
    """Return the agreement of every pair of simulators, in order of name."""
    everything = list(scores)
    names = sorted({one.simulator for one in everything})
    return [agreement(everything, a, b, seed, resamples) for a, b in combinations(names, 2)]


def _split(scores: Iterable[Score], simulators: tuple[str, str]) -> dict[str, list[Score]]:
    if simulators[0] == simulators[1]:
        raise UsageError(f"The simulator {simulators[0]} always agrees with itself; name two.")
    groups: dict[str, list[Score]] = {name: [] for name in simulators}
    for one in scores:
        if one.simulator in groups:
            groups[one.simulator].append(msgspec.structs.replace(one, task=f"{one.task}\x1f{one.level}"))
    return groups


def _by_agent(scores: Iterable[Score]) -> dict[str, dict[str, tuple[int, int]]]:
    groups: dict[str, list[Score]] = defaultdict(list)
    for one in scores:
        if one.scored:
            groups[one.agent].append(one)
    return {agent: passes(group) for agent, group in groups.items()}


def _counts(
    found: Mapping[str, Mapping[str, Mapping[str, tuple[int, int]]]],
    simulators: tuple[str, str],
    agents: Sequence[str],
    tasks: Sequence[str],
) -> tuple[int, int, int]:
    tables = [{a: _share([found[s][a][task] for task in tasks]) for a in agents} for s in simulators]
    return compare(tables[0], tables[1])


def _share(tasks: Sequence[tuple[int, int]]) -> Fraction:
    return Fraction(sum(c for c, _ in tasks), sum(n for _, n in tasks))


# -- ensembles --------------------------------------------------------------------------------------------------------


def verdict(results: Sequence[Result], needed: int) -> Result | None:
    """Return what an ensemble says of one run: `passed` or `failed`, None where the scored members do not settle it.

    It is settled by the members that gave a score: `needed` passes make it passed; so many fails that `needed` can no
    longer be reached make it failed, whatever the others would have said.
    """
    passed = results.count("passed")
    if passed >= needed:
        return "passed"
    open_ = len(results) - passed - results.count("failed")
    return "failed" if passed + open_ < needed else None


def ensemble(scores: Iterable[Score], needed: int, simulators: Sequence[str] = ()) -> list[Ensemble]:
    """Return each agent's rate under the ensemble of `simulators` (all, unless named), in order of agent.

    Runs of the same agent, task, level and attempt belong together; a member without such a run is like one that gave no
    score.

    Raises:
        UsageError: fewer simulators than `needed`, or `needed` below 1.
    """
    everything = list(scores)
    members = sorted(set(simulators)) or sorted({one.simulator for one in everything})
    if not 1 <= needed <= len(members):
        raise UsageError(f"{needed} of {len(members)} simulators cannot be asked for; K is 1 to {len(members)}.")
    runs: dict[tuple[str, str, str, int], dict[str, Score]] = defaultdict(dict)
    for one in everything:
        if one.simulator in members:
            runs[one.agent, one.task, one.level, one.attempt][one.simulator] = one
    judged: dict[str, list[Score]] = defaultdict(list)
    undecided: dict[str, int] = defaultdict(int)
    for (agent, *_), votes in sorted(runs.items()):
        said = verdict([votes[m].result if m in votes else "infra_error" for m in members], needed)
        undecided[agent] += said is None
        if said is not None:
            first = next(iter(votes.values()))
            judged[agent].append(msgspec.structs.replace(first, simulator="+".join(members), result=said))
    return [Ensemble(a, needed, len(members), rate(judged[a]), undecided[a]) for a in sorted(undecided)]


def agreement_of(table: Mapping[str, Mapping[str, Fraction]], first: str, second: str) -> Estimate:
    """Return the agreement of two simulators from a table of published rates, `table[simulator][agent]`; its n is in the
    note, and there is no interval where there are no runs to draw."""
    counts = compare(table[first], table[second])
    share = share_of(counts)
    return Estimate(None if share is None else float(share), 0, note=f"{sum(counts)} pairs")
