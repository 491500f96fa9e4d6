"""*Numbers*: how much was made and said, how often work went back, how long it took, what it cost. As of the moment."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable

import msgspec
from nicegui import ui

from orchestrator.web.book import Book
from orchestrator.web.queries.costs import CostsShown
from orchestrator.web.queries.numbers import DayNumbers, Numbers, PersonNumbers, as_csv, numbers
from orchestrator.web.ui import chart, kit
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.chart import Chart, Series
from orchestrator.web.ui.drawing import Drawing
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell
from simulator.businesstime import calendar_for

_MOST_PEOPLE = 200
_MOST_BARS = 14
_DAYS: tuple[tuple[str, str, str, tuple[tuple[str, str], ...]], ...] = (
    ("talk", "Messages, mails, meetings", "how many", (("messages", "messages"), ("mails", "mails"), ("meetings", "meetings"))),
    ("files", "Files", "how many", (("files", "new files"), ("further", "further versions"))),
    ("work", "Requests and delegations", "how many", (("requests", "requests"), ("delegations", "delegations"))),
    ("reviews", "Reviews", "how many", (("accepted", "accepted"), ("revised", "to revise"), ("supplemented", "to supplement"))),
    ("other", "Questions, shares, conflicts", "how many",
     (("questions", "questions"), ("shares", "shares"), ("conflicts", "conflicts"))),
    ("turns", "Turns of models", "turns", (("turns", "turns"),)),
    ("tokens", "Tokens", "tokens", (("input_tokens", "in"), ("output_tokens", "out"))),
)  # fmt: skip


class Shown(msgspec.Struct, frozen=True):
    """The charts, the totals and people's figures, all as of the moment."""

    charts: tuple[Chart, ...]
    totals: tuple[tuple[str, str], ...]
    people: tuple[PersonNumbers, ...]
    days: tuple[DayNumbers, ...]
    currency: str


def load(ask: Ask) -> Shown:
    """Return the numbers by the moment of the address."""
    book, office = ask.book, ask.office
    spent = ask.parts.ledger.costs(book, office)
    found = numbers(book, office, spent)
    days = found.days
    charts = (*day_charts(days, found.currency), lasted(book, days, office.revision), *whole_charts(found, spent))
    return Shown(tuple(c for c in charts if c.total), totals(found, days), found.people[:_MOST_PEOPLE], days, found.currency)


def day_charts(days: tuple[DayNumbers, ...], currency: str) -> list[Chart]:
    """Return the charts over days."""
    names = [d.day for d in days]
    made = [
        chart.by_day(key, title, unit, names,
                     [Series(words, tuple(_count(d, field) for d in days)) for field, words in fields])
        for key, title, unit, fields in _DAYS
    ]  # fmt: skip
    paid = Series("cost", tuple(d.cost_micros / 1_000_000 for d in days))
    waited = Series("seconds", tuple(d.latency_ms / 1000 for d in days))
    return [
        *made, chart.by_day("cost", "Cost", currency, names, [paid]),
        chart.by_day("latency", "How long models take to answer", "seconds, median", names, [waited], True),
    ]  # fmt: skip


def _count(day: DayNumbers, field: str) -> float:
    """Return what happened on a day; `further` versions are those of files that were there already."""
    return float(day.versions - day.files if field == "further" else getattr(day, field))


def lasted(book: Book, days: tuple[DayNumbers, ...], revision: int) -> Chart:
    """Return how long a piece of work took on the office's clock, the median by the day on which it began."""
    tally, calendar = book.timeline.read_on(), calendar_for(book.at().calendar)
    minutes: dict[str, list[float]] = {}
    for a in list(tally.activations.values()):
        if a.ended and a.ended <= revision:
            minutes.setdefault(calendar.day(a.at), []).append((a.landed_at - a.at) / 60)
    values = tuple(round(statistics.median(minutes[d.day]), 1) if d.day in minutes else 0.0 for d in days)
    title = "How long a piece of work takes"
    return chart.by_day("lasted", title, "simulated minutes, median", [d.day for d in days], [Series("minutes", values)], True)


def whole_charts(found: Numbers, spent: CostsShown) -> list[Chart]:
    """Return the charts of the whole time: rounds, time to accept, cost and tokens by role and person."""
    rounds = sorted(found.rounds.items(), key=lambda pair: int(pair[0]))
    made = [Chart("rounds", "Rounds until accepted", "delegations", tuple(f"{n} round{'s' if n != '1' else ''}" for n, _ in rounds),
                  (Series("delegations", tuple(float(count) for _, count in rounds)),))]  # fmt: skip
    waited = [p for p in found.people if p.hours_to_accept]
    made.append(Chart("accept", "Hours until accepted", "business hours, median", tuple(p.name for p in waited[:_MOST_BARS]),
                      (Series("hours", tuple(p.hours_to_accept for p in waited[:_MOST_BARS])),)))  # fmt: skip
    names = {p.person: p.name for p in found.people}
    for key, title, lines in (("role", "by role", spent.by_role), ("person", "by person", spent.by_person)):
        some = lines[:_MOST_BARS]
        labels = tuple(names.get(line.name, line.name or "other") for line in some)
        made.append(Chart(f"cost-{key}", f"Cost {title}", found.currency, labels,
                          (Series("cost", tuple(line.micros / 1_000_000 for line in some)),)))  # fmt: skip
        used = (Series("in", tuple(float(line.input_tokens) for line in some)),
                Series("out", tuple(float(line.output_tokens) for line in some)))  # fmt: skip
        made.append(Chart(f"tokens-{key}", f"Tokens {title}", "tokens", labels, used))
        waits = (Series("median", tuple(line.latency_ms / 1000 for line in some)),
                 Series("95 of 100 within", tuple(line.latency_ms_95 / 1000 for line in some)))  # fmt: skip
        made.append(Chart(f"latency-{key}", f"How long models take, {title}", "seconds", labels, waits))
    return made


def totals(found: Numbers, days: tuple[DayNumbers, ...]) -> tuple[tuple[str, str], ...]:
    """Return what stands at the head of the page."""
    total = {name: sum(getattr(d, name) for d in days) for name in DayNumbers.__struct_fields__ if name != "day"}
    reviews = total["accepted"] + total["revised"] + total["supplemented"]
    rework = f"{100 * (reviews - total['accepted']) / reviews:.0f} %" if reviews else "–"
    return (
        ("Days", f"{len(days):,}"), ("Messages", f"{total['messages']:,}"), ("Mails", f"{total['mails']:,}"),
        ("Meetings", f"{total['meetings']:,}"), ("Delegations", f"{total['delegations']:,}"), ("Files", f"{total['files']:,}"),
        ("Sent back", rework), ("Until accepted", f"{found.hours_to_accept_median:g} h"),
        ("Model calls", f"{total['calls']:,}"), ("Cost", f"{total['cost_micros'] / 1_000_000:,.2f} {found.currency}"),
        ("An answer takes", f"{found.latency_ms_median / 1000:.1f} s" if found.latency_ms_median else "–"),
    )  # fmt: skip


# -- drawn ------------------------------------------------------------------------------------------------------------------


def draw(shell: Shell, shown: Shown) -> None:
    """Draw the numbers."""
    with kit.box("row between"):
        kit.heading("Numbers", 1)
        with kit.box("row"):
            _download("Days as CSV", "days.csv", lambda: as_csv(shown.days), "days-csv")
            _download("People as CSV", "people.csv", lambda: as_csv(shown.people), "people-csv")
    with kit.box("totals", test="totals"):
        for name, value in shown.totals:
            with kit.box("total"):
                kit.text(value, "total-value num")
                kit.text(name, "faint")
    with kit.box("cards wide-cards"):
        for one in shown.charts:
            _chart(one)
    with kit.card("People"):
        rows = [
            (p.name, str(p.activations), str(p.delegations), str(p.accepted), str(p.sent_back), f"{p.hours_to_accept:g}" if p.accepted else "–",
             f"{p.calls:,}", f"{p.tokens:,}", f"{p.latency_ms / 1000:.1f}" if p.latency_ms else "–", f"{p.cost_micros / 1_000_000:,.4f}")
            for p in shown.people
        ]  # fmt: skip
        columns = (
            "Person", "At work", "Delegated", "Accepted", "Sent back", "Hours to accept", "Calls", "Tokens", "Seconds an answer",
            f"Cost ({shown.currency})",
        )  # fmt: skip
        kit.table("Numbers by person", columns, rows, "people-numbers", "num")


def _chart(one: Chart) -> None:
    with kit.card("", test=f"chart-{one.key}"):
        with kit.box("row between"):
            kit.heading(one.title, 2, "card-title")
            with kit.box("row"):
                _download("CSV", f"{one.key}.csv", lambda: chart.as_csv(one), f"csv-{one.key}", f"{one.title} as CSV")
                _download("PNG", f"{one.key}.png", lambda: chart.png(one), f"png-{one.key}", f"{one.title} as PNG")
        with kit.box("legend"):
            for n, s in enumerate(one.series):
                with kit.text("", "key"):
                    kit.Tag("i", f"dot square bar-{n % len(chart.COLOURS)}")
                    kit.text(s.name)
            kit.text(one.unit, "faint")
        Drawing(chart.picture(one), f"{one.title}: {one.unit}", "chart")


def _download(words: str, name: str, make: Callable[[], bytes], test: str, label: str = "") -> None:
    async def give() -> None:
        ui.download.content(await asyncio.to_thread(make), name)

    kit.button(words, give, "small", "download", label, test)


PAGE = Page("numbers", PATHS["numbers"], "Numbers", "bar_chart", load, draw, every=15.0)
