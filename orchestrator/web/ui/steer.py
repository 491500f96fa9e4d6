"""The controls of an office's clock: run, pause, go on, step, pace, stop. Two browsers may steer one clock: the last wins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date

from nicegui import ui

from orchestrator.web.book import Book
from orchestrator.web.offices import Clock, RunAsked, Steer
from orchestrator.web.parts import Parts
from orchestrator.web.ui import kit
from simulator.businesstime import calendar_for
from simulator.errors import OfficeTownError

SPEEDS = {"1": "Real time", "10": "10×", "30": "30×", "60": "60×", "120": "120×", "max": "As fast as it goes"}
STATES = {
    "still": "Not running", "elsewhere": "Runs elsewhere", "starting": "Starting…", "running": "Running",
    "paused": "Paused", "stopping": "Stopping…", "ended": "Days are over", "stopped": "Stopped", "failed": "Stopped by an error",
}  # fmt: skip
_MORE_DAYS = 7


class Controls:
    """The buttons for one office's clock. `told` is called with how it stands after each command."""

    def __init__(self, parts: Parts, book: Book, told: Callable[[], Awaitable[None]]) -> None:
        self._parts = parts
        self._book = book
        self._told = told
        self._shown: tuple[str, str] | None = None
        self.pill = kit.chip("", "state", role="status", test="clock-state")
        self._row = kit.box("steer", role="group", label="The office's clock")

    def show(self, clock: Clock) -> None:
        """Show how the clock stands."""
        self.pill.say(STATES.get(clock.state, clock.state))
        self.pill.classes(replace=f"chip state state-{clock.state}")
        self.pill.set(title=clock.error or clock.holder or None)
        shape = ("running" if clock.state in ("running", "paused") else clock.state, f"{clock.state}{clock.speed}")
        if shape == self._shown:
            return
        self._shown = shape
        self._row.clear()
        with self._row:
            self._draw(clock)

    def _draw(self, clock: Clock) -> None:
        if clock.state in ("running", "paused"):
            if clock.state == "running":
                kit.button("Pause", lambda: self.steer(Steer(paused=True)), "main", "pause", test="clock-pause")
            else:
                kit.button("Go on", lambda: self.steer(Steer(paused=False)), "main", "play_arrow", test="clock-resume")
            kit.button(
                "", lambda: self.steer(Steer(steps=1)), "", "skip_next", "One step: on to the next thing that happens",
                "clock-step",
            )  # fmt: skip
            kit.choice(
                "Pace of the office's clock", SPEEDS, clock.speed, lambda v: self.steer(Steer(speed=v)), "clock-speed"
            )
            kit.button("", self._stop, "", "stop", "Stop the office at its next commit", "clock-stop")
        elif clock.state in ("still", "ended", "stopped", "failed"):
            kit.button("Run…", self.ask, "main", "play_arrow", test="clock-run")

    async def steer(self, command: Steer) -> None:
        """Send a command to the clock."""
        await self._do(lambda: self._parts.town.steer(self._book.id, command))

    async def _stop(self) -> None:
        await self._do(lambda: self._parts.town.stop(self._book.id, wait_s=0.5))

    async def _do(self, command: Callable[[], object]) -> None:
        try:
            await asyncio.to_thread(command)
        except OfficeTownError as fault:
            ui.notify(str(fault), type="warning", multi_line=True)
        await self._told()

    async def ask(self) -> None:
        """Ask for how many days and at what pace, then run."""
        office = await asyncio.to_thread(self._book.at)
        calendar = calendar_for(office.calendar)
        gone = date.fromisoformat(calendar.day(office.now)) - date.fromisoformat(calendar.day(office.opened_at))
        so_far = gone.days + 1
        pace = {"value": "60"}
        with ui.dialog(value=True) as dialog, kit.card("Run this office", "dialog"):
            kit.text(f"It has come to day {so_far}. People work until the end of the day you choose.", "hint", "p")
            kit.text("Until day", "label")
            days = kit.Tag(
                "input", "field", None, type="number", min=1, max=36_525, value=so_far + _MORE_DAYS, label="Until which day",
                test="run-days",
            )  # fmt: skip
            wanted = {"days": str(so_far + _MORE_DAYS), "budget": ""}
            days.on("change", lambda e: wanted.update(days=str(e.args)), js_handler=kit.CHOSEN)
            kit.text("Pace", "label")
            kit.choice("Pace", SPEEDS, "60", lambda v: pace.update(value=v), "run-speed")
            kit.text("Budget, if it has one", "label")
            money = kit.Tag(
                "input", "field", None, label="Budget, empty for none", placeholder="none",
                test="run-budget",
            )
            money.on("change", lambda e: wanted.update(budget=str(e.args).strip()), js_handler=kit.CHOSEN)

            async def start() -> None:
                dialog.close()
                total = int(wanted["days"]) if wanted["days"].isdecimal() and len(wanted["days"]) < 7 else 0
                asked = RunAsked(total, pace["value"], budget=wanted["budget"])
                row = await asyncio.to_thread(self._parts.house.offices.find, self._book.id)
                await self._do(lambda: self._parts.town.start(row, asked))

            with kit.box("row end"):
                kit.button("Cancel", dialog.close)
                kit.button("Run", start, "main", "play_arrow", test="run-start")
        dialog.on("hide", dialog.delete)
