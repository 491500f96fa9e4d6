"""Taking part from a real browser: in a room, by mail, in a role; with the person's rights, and never lost while one types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Town, stir
from tests.browser.hostile import IMAGE
from tests.browser.looking import visit

ROOM = "room-general"


def unfold(page: Page, test: str) -> None:
    page.get_by_test_id(test).locator("summary").click()


def newest(town: Town) -> Any:
    return town.get(f"/offices/{town.live}/rooms/{ROOM}/messages")["items"][0]


@pytest.fixture
def paused(town: Town) -> Iterator[Town]:
    """The running office, standing still: what is let in enters between two commits all the same."""
    run = f"{town.url}/api/v1/offices/{town.live}/run"
    httpx.put(run, json={"paused": True}, timeout=60)
    yield town
    httpx.put(run, json={"paused": False}, timeout=60)


def test_a_message_is_posted_as_one_of_the_room_and_shown(page: Page, paused: Town) -> None:
    visit(page, paused, f"/office/{paused.live}/chat?room={ROOM}")
    unfold(page, "say")
    page.get_by_test_id("say-as").select_option("daniel")
    page.get_by_test_id("say-text").fill(f"Where is the March file? {IMAGE}")
    page.get_by_test_id("say-asks").check()
    page.get_by_test_id("say-post").click()
    expect(page.get_by_text("Handed over.").first).to_be_visible()
    shown = page.get_by_test_id("room").locator("li.message").last
    expect(shown).to_contain_text(f"Where is the March file? {IMAGE}")
    expect(shown).to_contain_text("asks for an answer")
    expect(page.get_by_test_id("say-text")).to_have_value("")
    assert page.evaluate("window.pwned") is None
    said = newest(paused)
    assert (said["sender"], said["asks"]) == ("daniel", True)
    expect(page.get_by_test_id("say-as")).to_have_value("daniel")
    page.get_by_test_id("say-text").fill("And the one of April?")
    page.get_by_test_id("say-post").click()
    expect(page.get_by_test_id("room").locator("li.message").last).to_contain_text("And the one of April?")


def test_an_empty_message_is_refused_with_the_reason_and_nothing_is_said(page: Page, paused: Town) -> None:
    before = newest(paused)
    visit(page, paused, f"/office/{paused.live}/chat?room={ROOM}")
    unfold(page, "say")
    page.get_by_test_id("say-post").click()
    expect(page.get_by_text("the message is empty")).to_be_visible()
    assert newest(paused) == before


def test_what_is_typed_stays_while_the_office_goes_on(page: Page, town: Town) -> None:
    visit(page, town, f"/office/{town.live}/chat?room={ROOM}")
    unfold(page, "say")
    page.get_by_test_id("say-text").fill("Half a sentence")
    clock = page.get_by_test_id("clock").inner_text()
    head = town.get(f"/offices/{town.live}")["head"]
    while town.get(f"/offices/{town.live}")["head"] == head:
        stir(town.url, town.live)
    expect(page.get_by_test_id("clock")).not_to_have_text(clock, timeout=60_000)
    expect(page.get_by_test_id("say-text")).to_have_value("Half a sentence")
    expect(page.get_by_test_id("say-text")).to_be_visible()


def test_a_mail_is_written_by_a_client_and_answered(page: Page, paused: Town) -> None:
    client = "maya"
    visit(page, paused, f"/office/{paused.live}/mail")
    unfold(page, "write")
    page.get_by_test_id("write-as").select_option(client)
    expect(page.get_by_test_id("write-to")).to_contain_text("Elena Marsh")
    assert "Gareth" not in page.get_by_test_id("write-to").inner_text(), "a client knows no other client"
    page.get_by_test_id("write-to").select_option("elena")
    page.get_by_test_id("write-subject").fill("A question of mine")
    page.get_by_test_id("write-text").fill("When can we speak?")
    page.get_by_test_id("write-send").click()
    line = page.get_by_test_id("mail-list").get_by_role("button").filter(has_text="A question of mine").first
    line.click()
    expect(page.get_by_test_id("mail-thread")).to_contain_text("When can we speak?")
    unfold(page, "answer")
    page.get_by_test_id("answer-as").select_option("elena")
    expect(page.get_by_test_id("answer")).to_contain_text("To all who had it: Elena Marsh, Maya Lindqvist")
    page.get_by_test_id("answer-text").fill("Tomorrow at ten.")
    page.get_by_test_id("answer-send").click()
    expect(page.get_by_test_id("mail-thread")).to_contain_text("Tomorrow at ten.")
    mails = paused.get(f"/offices/{paused.live}/mail")["items"]
    assert sorted((m["sender"], m["to"], m["subject"]) for m in mails[:2]) == [
        ("elena", [client], "Re: A question of mine"), (client, ["elena"], "A question of mine"),
    ]  # fmt: skip
    assert mails[0]["thread"] == mails[1]["thread"]


def test_a_role_is_played_and_given_back(page: Page, town: Town) -> None:
    visit(page, town, f"/office/{town.live}/person/daniel")
    page.get_by_test_id("role-play").click()
    expect(page.get_by_test_id("dock")).to_contain_text("role is played by a person")
    assert town.get(f"/offices/{town.live}/as/daniel")["played"]
    page.get_by_test_id("role-back").click()
    expect(page.get_by_test_id("role-play")).to_be_visible()
    assert not town.get(f"/offices/{town.live}/as/daniel")["played"]


def test_whoever_comes_with_a_persons_key_writes_as_themselves_alone(page: Page, paused: Town) -> None:
    api = f"{paused.url}/api/v1/offices/{paused.live}"
    key = httpx.post(f"{api}/people/tomas/keys", timeout=60).json()
    opened = page.request.post(f"{paused.url}/api/v1/session", data={"key": key["key"]})
    assert opened.ok
    visit(page, paused, f"/office/{paused.live}/person/tomas?tab=chat&room={ROOM}")
    unfold(page, "say")
    expect(page.get_by_test_id("say-as")).to_have_count(0)
    page.get_by_test_id("say-text").fill("Tomás, himself.")
    page.get_by_test_id("say-post").click()
    expect(page.get_by_test_id("room").locator("li.message").last).to_contain_text("Tomás, himself.")
    assert newest(paused)["sender"] == "tomas"
    assert httpx.delete(f"{api}/keys/{key['id']}", timeout=60).is_success
    page.get_by_test_id("say-text").fill("Still here?")
    page.get_by_test_id("say-post").click()
    expect(page.get_by_text(re.compile("Your key was taken back")).first).to_be_visible()
    said = paused.get(f"/offices/{paused.live}/rooms/{ROOM}/messages")["items"]
    assert not any("Still here?" in one["text"] for one in said)


def test_nothing_can_be_done_in_the_past_or_in_an_office_that_does_not_run(page: Page, paused: Town) -> None:
    for path in (f"/office/{paused.live}/chat?room={ROOM}&at=200", f"/office/{paused.done}/chat?room={ROOM}"):
        visit(page, paused, path)
        expect(page.get_by_test_id("room")).to_be_visible()
        expect(page.get_by_test_id("dock")).to_be_hidden()
    visit(page, paused, f"/office/{paused.live}/chat?room={ROOM}")
    expect(page.get_by_test_id("dock")).to_be_visible()
