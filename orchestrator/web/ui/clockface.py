"""What an office's clock shows: an instant in words, the next thing, and the time that passes in between."""

from __future__ import annotations

from simulator.businesstime import calendar_for
from simulator.office import Office

_NIGHT_S = 6 * 3600


def described(office: Office, at: int) -> str:
    """Return an instant as the office's clock shows it."""
    return f"{calendar_for(office.calendar).local(at):%a %-d %b %Y, %H:%M}"


def when_next(office: Office, at: int) -> str:
    """Return when the next thing happens: the time, with the day where it is another one."""
    local, now = calendar_for(office.calendar).local(at), calendar_for(office.calendar).local(office.now)
    return f"{local:%H:%M}" if local.date() == now.date() else f"{local:%a %-d %b, %H:%M}"


def passing(now: int, due: int, waited: float, speed: int) -> int:
    """Return what the clock shows `waited` real seconds after it began to wait from `now` for `due`, at a speed.

    Across a night it stands: closed hours are skipped at once.
    """
    if due - now > _NIGHT_S:
        return now
    return min(due, now + int(max(0.0, waited) * speed))
