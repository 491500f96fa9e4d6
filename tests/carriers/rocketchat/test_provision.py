"""People become users: only those that are missing, as often as one likes, however often it is interrupted."""

from __future__ import annotations

import pytest

from simulator.errors import CarrierError
from tests.carriers.rocketchat.world import World, directory, password_of
from tests.carriers.standins.faults import Fault


def test_staff_get_users_and_clients_do_not(world: World) -> None:
    world.chat.provision(world.people)
    users = {u["username"]: u for u in world.server.users.values()}
    assert set(users) == {"office", "daniel", "elena", "maya", "priya"}
    assert users["elena"]["name"] == "Elena"
    assert users["elena"]["emails"][0]["address"] == "elena@juniper.invalid"
    assert users["elena"]["roles"] == ["user", "bot"]
    assert world.server.passwords["elena"] == password_of("elena")
    assert world.server.members[world.rid("general")] == ["office"], "nobody is put into the server's own channels"


@pytest.mark.parametrize("size", [12, 100])
def test_provisioning_again_makes_nothing(world: World, size: int) -> None:
    people = directory(*(f"person{n:03d}" for n in range(size)))
    world.chat.provision(people)
    assert len(world.server.users) == size + 1
    assert len(world.server.asked("users.create")) == size
    world.anew(people).provision(people)
    assert len(world.server.asked("users.create")) == size, "those that were there are found and not made again"


@pytest.mark.parametrize("kind", ["drop", "drop_after"])
@pytest.mark.parametrize("after", [0, 1, 5])
def test_an_interrupted_provisioning_goes_on_where_it_stopped(world: World, kind: str, after: int) -> None:
    people = directory(*(f"person{n:03d}" for n in range(12)))
    world.server.faults.plan(Fault(kind, match="users.create", skip=after))  # type: ignore[arg-type]
    with pytest.raises(CarrierError, match="cannot be reached"):
        world.chat.provision(people)
    world.anew(people).provision(people)
    assert sorted(u["username"] for u in world.server.users.values() if u["username"] != "office") == [
        a.username for a in people.accounts if a.staff
    ]


def test_a_user_of_somebody_else_is_named_and_the_others_are_made(world: World) -> None:
    world.server._make_user("elena", "Elena Other", "elena@elsewhere.example", "her own password", ["user"])
    with pytest.raises(
        CarrierError, match=r"'elena' does not take the office's password.*remove the account"
    ) as caught:
        world.chat.provision(world.people)
    assert password_of("elena") not in str(caught.value)
    assert {u["username"] for u in world.server.users.values()} >= {"daniel", "maya", "priya"}

    def logins() -> int:
        return sum(b'"user":"elena"' in e.request.body.replace(b" ", b"") for e in world.server.asked("login"))

    assert logins() == 1
    with pytest.raises(CarrierError, match="does not take the office's password"):
        world.chat.provision(world.people)
    assert logins() == 1, "a refused password is not tried again at once: servers lock out"


def test_an_address_that_somebody_else_has_is_a_clear_error(world: World) -> None:
    world.server._make_user("other", "Other", "elena@juniper.invalid", "x", ["user"])
    with pytest.raises(CarrierError, match=r"'elena' could not be made: .*elena@juniper.invalid is already in use"):
        world.chat.provision(world.people)


def test_a_wrong_account_of_the_office_is_a_clear_error(world: World) -> None:
    world.server.passwords["office"] = "changed"
    with pytest.raises(CarrierError, match="the account 'office' does not take the office's password"):
        world.chat.provision(world.people)


def test_somebody_hired_later_is_made_when_first_needed(world: World) -> None:
    world.set_up()
    later = directory("daniel", "elena", "maya", "priya", "noor")
    world.anew(later)
    world.joins("noor")
    world.posts("noor.1.1", sender="noor")
    assert [m["u"]["username"] for m in world.said()] == ["noor"]


def test_a_token_that_expired_is_fetched_anew_once(world: World) -> None:
    world.set_up()
    world.posts("elena.1.1")
    world.server.drop_tokens()
    world.posts("elena.1.2")
    assert [m["customFields"]["event"] for m in world.said()] == ["elena.1.1", "elena.1.2"]


def test_a_rate_limit_is_waited_out(world: World) -> None:
    now = int((world.clock.now + 7) * 1000)
    world.server.faults.plan(
        Fault(
            "status",
            2,
            "users.create",
            429,
            {"X-RateLimit-Reset": str(now)},
            '{"success": false, "error": "slow down"}',
        )
    )
    world.chat.provision(world.people)
    assert world.clock.slept == [7.0, 1.0], "the second reset lies in the past: it means now"
    assert len(world.server.users) == 5
