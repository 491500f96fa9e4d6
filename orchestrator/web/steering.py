"""The clock that several browsers steer: paused, stepped, faster and slower while it runs; the last command wins.

It changes when things are shown, never what happens: the event log does not depend on it (DESIGN 5).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from simulator.businesstime import calendar_for
from simulator.clock import SPEED, AdaptiveClock
from simulator.engine.inbound import Doorstep
from simulator.errors import UsageError
from simulator.office import Office

_SLICE = 0.2
"""Seconds after which a waiting clock looks at the doorstep, where carriers lay things down unannounced."""


def speed_of(text: str) -> int:
    """Return simulated seconds a real second: 1 to 120, or 0 for `max`. Raises UsageError."""
    if text == "max":
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= SPEED):
        raise UsageError(
            f"A speed is `max`, or 1 to {SPEED} simulated seconds a real second; {text[:20]!r} is neither."
        )
    return int(text)


class SteeredClock:
    """A `Pacer` that can be steered from any thread. `speed` 0 is as fast as the models allow.

    `wall` returns seconds; it stands still for the office while it is paused. `changed` is called after each change.
    """

    def __init__(
        self, office: Office, door: Doorstep, wall: Callable[[], float], speed: int, paused: bool,
        changed: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.door = door
        self.speed = speed
        self.paused = paused
        self.steps = 0
        """Instants that a paused office may still go on."""
        self.due: tuple[int, float] | None = None
        """The simulated instant that is waited for, and when the wait began."""
        self._calendar = calendar_for(office.calendar)
        self._wall = wall
        self._changed = changed
        self._turn = threading.Condition()
        self._ended = False
        self._stood = 0.0
        self._clock = self._fresh(office.now)

    # -- steering, from any thread --------------------------------------------------------------------------------------

    def steer(self, paused: bool | None = None, speed: int | None = None, steps: int = 0) -> None:
        """Pause or go on, set the speed, take steps of one instant each: what is not given stays as it is.

        Steps pause the office when they are done.
        """
        with self._turn:
            if speed is not None:
                self.speed = speed
            if paused is not None:
                self.paused, self.steps = paused, 0
            if steps:
                self.paused = True
                self.steps += steps
            self._turn.notify_all()
        self._changed()

    def end(self) -> None:
        """Let go of whoever waits: the office is being stopped."""
        with self._turn:
            self._ended = True
            self._turn.notify_all()

    def nudge(self) -> None:
        """Have the doorstep looked at now."""
        with self._turn:
            self._turn.notify_all()

    # -- the engine's side ------------------------------------------------------------------------------------------------

    def before(self, at: int, working: int, commit: Callable[[], None]) -> bool:
        """Return True when `at` may be processed, False as soon as something has come in, or the office is to stop."""
        self.due = (at, self._wall())
        try:
            if not self._may_go(commit):
                return False
            if self._stepped() or not self.speed:
                self._clock = self._fresh(at)
                return True
            self._clock.speed = self.speed
            return self._clock.before(at, working, commit)
        finally:
            self.due = None

    def _may_go(self, commit: Callable[[], None]) -> bool:
        """Wait while paused; False when something else is to be done first. What came in waits for a commit (RULE 4)."""
        if self._held() or self.door.waiting:
            commit()
            began = self._wall()
            with self._turn:
                while self._held() and not self._ended and not self.door.waiting:
                    self._turn.wait(_SLICE)
            self._stood += self._wall() - began
        return not self._ended and not self.door.waiting

    def _held(self) -> bool:
        return self.paused and not self.steps

    def _stepped(self) -> bool:
        """Take one of the steps there are."""
        with self._turn:
            if not self.paused or not self.steps:
                return False
            self.steps -= 1
        self._changed()
        return True

    def _sleep(self, seconds: float) -> bool:
        """Wait; False when cut short by a command, by something that came in, or by the end."""
        end = self._wall() + seconds
        speed = self.speed
        with self._turn:
            while (left := end - self._wall()) > 0:
                if self._ended or self.door.waiting or self.paused or self.speed != speed:
                    return False
                self._turn.wait(min(_SLICE, left))
        return not self._ended

    def _fresh(self, at: int) -> AdaptiveClock:
        """Return a clock that starts at an instant now, whose wall stands still while the office is paused."""
        return AdaptiveClock(self._calendar, at, lambda: self._wall() - self._stood, self._sleep, self.speed or SPEED)
