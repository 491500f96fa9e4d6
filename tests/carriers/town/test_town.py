"""An office and real carriers: what the servers hold is what the record says, whatever happens to them on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.carriers.standins.faults import Fault
from tests.carriers.town.town import Town


def test_chat_mail_and_calendars_hold_exactly_what_the_record_says(town: Town, plain: str) -> None:
    """And the log is that of the run without them."""
    assert town.run(2) == plain
    assert town.waiting() == 0
    town.agrees()


def test_an_office_that_ran_alone_is_carried_over(town: Town, plain: str) -> None:
    town.run(1, carriers="none")
    town.run(1)
    town.agrees()
    assert town.run(2) == plain
    town.agrees()


KINDS = ["drop_after", *(pytest.param(k, marks=pytest.mark.slow) for k in ("drop", "500", "429", "slow"))]


@pytest.mark.parametrize("kind", KINDS)
def test_servers_that_fail_now_and_then(town: Town, plain: str, kind: str) -> None:
    """RELIABILITY 8: refused, told to come back later, made to wait, dropped before and after they had it."""
    headers = {"Retry-After": "0"} if kind == "429" else {}
    status = int(kind) if kind.isdigit() else 500
    word = "status" if kind.isdigit() else kind
    for server in (town.chat, town.mail):
        server.faults.plan(
            *(Fault(word, status=status, headers=headers, seconds=0.1, skip=n * 2) for n in range(1, 12))  # type: ignore[arg-type]
        )
    if kind == "drop":
        town.calendar.refuse(12)
    elif kind == "drop_after":
        town.calendar.drop(12)
    elif kind == "slow":
        town.calendar.slow(0.1, 12)
    else:
        town.calendar.fail(status, 12)
    assert town.run(2) == plain
    for _ in range(20):
        if not town.waiting():
            break
        town.run(2)
    assert town.waiting() == 0
    town.agrees()


@pytest.mark.slow
def test_months_without_servers_are_carried_over(town: Town) -> None:
    """Backfill: seven weeks of an office that ran alone, in order, each thing once."""
    alone = town.run(50, carriers="none")
    assert not town.mail.state()["messages"]
    assert town.run(50) == alone
    assert town.waiting() == 0
    town.agrees()


@pytest.mark.parametrize("which", ["mail", *(pytest.param(w, marks=pytest.mark.slow) for w in ("chat", "calendar"))])
def test_a_server_that_is_down_holds_nothing_up_and_gets_it_all_later(town: Town, plain: str, which: str) -> None:
    """A run never depends on a carrier: the outbox waits and says so."""
    town.run(1)
    switches: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "chat": (town.chat.stop, town.chat.start),
        "mail": (town.mail.stop, town.mail.start),
        "calendar": (town.radicale.close, town.radicale.start),
    }
    stop, start = switches[which]
    stop()
    assert town.run(2) == plain
    assert town.waiting() > 0 or which == "chat"
    assert which == "chat" or any("wait to be delivered" in line for line in town.said)
    start()
    for _ in range(3):
        town.run(2)
    assert town.waiting() == 0
    town.agrees()
