"""The adaptive clock: paces simulated time for a person who watches (DESIGN 5). It never changes the event log."""

from __future__ import annotations

from collections.abc import Callable

from simulator.businesstime import BusinessCalendar

SPEED = 120
"""Simulated seconds a real second, at most."""


class AdaptiveClock:
    """Lets at most `speed` simulated seconds pass a real second while the office is open; skips closed hours.

    While activations run it slows by their number, so that a watcher sees people work; in an outage nothing is
    processed
    and so it stands still. `wall` returns seconds; `sleep` waits and returns False if it was cut short because something
    came in from outside; both are passed in.
    """

    def __init__(
        self,
        calendar: BusinessCalendar,
        now: int,
        wall: Callable[[], float],
        sleep: Callable[[float], bool],
        speed: int = SPEED,
    ) -> None:
        self.calendar = calendar
        self.speed = max(1, min(speed, SPEED))
        self._wall, self._sleep = wall, sleep
        self._at, self._since = now, wall()

    def before(self, at: int, working: int, commit: Callable[[], None]) -> bool:
        """Wait until the instant `at` may be processed; False when the wait was cut short."""
        open_seconds = self.calendar.business_seconds_between(self._at, at)
        pace = self.speed / (1 + working / 4)
        due = self._since + open_seconds / pace
        wait = due - self._wall()
        if wait > 0:
            commit()
            if not self._sleep(max(0.0, due - self._wall())):
                return False
        self._at, self._since = at, self._wall()
        return True
