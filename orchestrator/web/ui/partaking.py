"""Taking part from the browser: write in the room that is open, write a mail or answer one, play a role oneself.

All of it goes the way of the API: checked with that person's rights, laid on the office's doorstep, and let in between two
commits (RULE 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from orchestrator.web import acting
from orchestrator.web.acting import ActAsked, ActTaken, RoleAsked
from orchestrator.web.parts import Seat, seated
from orchestrator.web.queries.talk import MailLine, RoomLine
from orchestrator.web.ui import kit
from orchestrator.web.ui.shell import Shell

MOST_LETTERS = 20_000
_CHECKED = "(e) => emit(e.target.checked)"


class _Form:
    """What is typed into one form of the dock, and how it is handed over. `place` is a part that depends on what was chosen."""

    def __init__(self, shell: Shell, key: str, senders: Mapping[str, str], begin: Mapping[str, Any]) -> None:
        self.shell = shell
        self.key = key
        self.senders = senders
        self._begin = begin
        self.typed: dict[str, Any] = {}
        self.place: kit.Tag | None = None

    def start(self) -> None:
        """Begin anew: empty, but as whoever wrote last."""
        kept = self.shell.dock.kept.get("as", "")
        self.typed = {"as": kept if kept in self.senders else next(iter(self.senders)), **self._begin}

    def sender(self, label: str, test: str, chosen: Callable[[str], Any] | None = None) -> None:
        """Draw the choice of who writes, where there is one."""
        if len(self.senders) > 1:
            kit.text(label, "label")
            kit.choice(label, self.senders, str(self.typed["as"]), chosen or self.write_as, test, "small")

    def write_as(self, person: str) -> None:
        self.typed["as"] = self.shell.dock.kept["as"] = person

    def line(self, name: str, label: str, test: str) -> None:
        kit.line(label, str(self.typed[name]), lambda v: self.typed.update({name: v}), test, 300, placeholder=label)

    def area(self, name: str, label: str, test: str, stay: Mapping[str, str]) -> None:
        """Draw a field for several lines; who begins to type stays at that place (parameters of the address), whatever comes."""
        made = kit.area(label, str(self.typed[name]), lambda v: self.typed.update({name: v}), test, 3, MOST_LETTERS)
        if stay:
            made.on("focus", lambda: None if stay.items() <= self.shell.query.items() else self.shell.turn(**stay), args=[])

    def tick(self, name: str, label: str, test: str) -> None:
        with kit.Tag("label", "row"):
            made = kit.Tag("input", "", None, type="checkbox", label=label, test=test)
            made.on("change", lambda e: self.typed.update({name: bool(e.args)}), js_handler=_CHECKED)
            kit.text(label)

    async def act(self, person: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """Hand an act over; the form is empty again once it was taken."""
        shell = self.shell
        asked = ActAsked(tool, dict(arguments), key=shell.once())
        taken: ActTaken | None = await shell.telling(
            lambda: acting.act(_seat(shell, person), shell.parts.town, shell.parts.house.blobs, asked)
        )
        if taken is not None:
            ui.notify("Handed over. It is in the office in a moment.", type="positive")
            shell.dock.again(self.key)


def _seat(shell: Shell, person: str) -> Seat:
    """Return somebody's place in the office as it is now. To a person's own key there is theirs alone."""
    who = person if shell.caller.operator else shell.caller.person
    book = shell.opened()
    return seated(book, book.at(), who, not shell.caller.operator)


def message(shell: Shell, room: RoomLine, name: str, senders: Mapping[str, str]) -> None:
    """Offer to write in a room, as one of those who may be chosen."""
    if not senders:
        return
    form = _Form(shell, f"message {room.id} {' '.join(senders)}", senders, {"text": "", "asks": False})

    def draw(is_open: bool) -> None:
        form.start()
        with kit.fold(f"Write in {name}", "composer", is_open, test="say"):
            with kit.box("row"):
                form.sender("As", "say-as")
            form.area("text", f"Message to {name}", "say-text", {"room": room.id})
            with kit.box("row between"):
                form.tick("asks", "Asks for an answer", "say-asks")
                kit.button("Post", post, "main", "send", test="say-post")

    async def post() -> None:
        typed = form.typed
        arguments = {"to": room.id, "text": typed["text"], "asks": typed["asks"]}
        await form.act(str(typed["as"]), "post_message", arguments)

    shell.dock.put(form.key, draw)


def letter(shell: Shell, senders: Mapping[str, str], answered: MailLine | None, names: Mapping[str, str]) -> None:
    """Offer to write a mail, as one of those who may be chosen, to whom they know; and to answer the one that is open."""
    _new_mail(shell, senders, names)
    if answered is not None:
        around = dict.fromkeys((*answered.to, *answered.cc, answered.sender))
        among = {p: senders[p] for p in around if p in senders}
        if among:
            _answer(shell, among, answered, {p: names.get(p, p) for p in around})


def _new_mail(shell: Shell, senders: Mapping[str, str], names: Mapping[str, str]) -> None:
    one = len(senders) == 1
    options = senders if one else {"": "Choose who writes", **senders}
    form = _Form(shell, f"mail {' '.join(senders)}", options, {"to": "", "subject": "", "text": ""})

    def draw(is_open: bool) -> None:
        form.start()
        if not one:
            form.typed["as"] = ""
        with kit.fold("Write a mail", "composer", is_open, test="write"):
            with kit.box("row"):
                form.sender("From", "write-as", chosen)
                kit.text("To", "label")
                form.place = kit.box()
            form.line("subject", "Subject", "write-subject")
            form.area("text", "Text of the mail", "write-text", {})
            with kit.box("row end"):
                kit.button("Send", send, "main", "send", test="write-send")
        _recipients(form, {p: name for p, name in names.items() if p not in senders} if one else {})

    async def chosen(person: str) -> None:
        form.write_as(person)
        form.typed["to"] = ""
        known = await shell.telling(lambda: _known(_seat(shell, person))) if person else {}
        _recipients(form, known or {})

    async def send() -> None:
        typed = form.typed
        if not typed["as"] or not typed["to"]:
            ui.notify("Choose who writes, and to whom.", type="warning")
            return
        await _send(form, [typed["to"]], typed["subject"], "")

    shell.dock.put(form.key, draw)


def _known(seat: Seat) -> dict[str, str]:
    """Return those whom a person may write to."""
    return {c.id: c.name for c in seat.seen.people() if c.id != seat.person}


def _recipients(form: _Form, names: Mapping[str, str]) -> None:
    place = form.place
    if place is None or place.is_deleted:
        return
    place.clear()
    with place:
        words = "Choose to whom" if names else "First choose who writes"
        kit.choice("To", {"": words, **names}, "", lambda v: form.typed.update(to=v), "write-to", "small")


def _answer(shell: Shell, senders: Mapping[str, str], answered: MailLine, around: Mapping[str, str]) -> None:
    form = _Form(shell, f"answer {answered.thread} {' '.join(senders)}", senders, {"text": ""})
    subject = answered.subject if answered.subject.lower().startswith("re:") else f"Re: {answered.subject}"

    def draw(is_open: bool) -> None:
        form.start()
        with kit.fold(f"Answer “{answered.subject[:60]}”", "composer", is_open, test="answer"):
            with kit.box("row"):
                form.sender("From", "answer-as")
            kit.text(f"To all who had it: {', '.join(around.values())}", "faint", "p")
            form.area("text", "Text of the answer", "answer-text", {"mail": answered.id})
            with kit.box("row end"):
                kit.button("Send", send, "main", "send", test="answer-send")

    async def send() -> None:
        await _send(form, [p for p in around if p != form.typed["as"]], subject, answered.id)

    shell.dock.put(form.key, draw)


async def _send(form: _Form, to: list[str], subject: str, answers: str) -> None:
    sender = str(form.typed["as"])
    person = form.shell.office.people.get(sender)
    tool = "write_mail" if person is not None and person.kind == "client" else "send_mail"
    arguments = {"to": to, "subject": subject, "text": form.typed["text"], "in_reply_to": answers}
    await form.act(sender, tool, arguments)


def role(shell: Shell, person: str, name: str, played: bool) -> None:
    """Offer to play somebody's role oneself, or to give it back to the model."""

    def draw(_: bool) -> None:
        with kit.box("row between composer"):
            if played:
                kit.text(f"{name}'s role is played by a person: what comes for them waits, and no model acts for them.")
                kit.button("Give the role back", lambda: change(False), "", "smart_toy", test="role-back")
            else:
                kit.text(f"A model plays {name}.")
                kit.button("Play this role yourself", lambda: change(True), "", "person", test="role-play")

    async def change(wanted: bool) -> None:
        taken = await shell.telling(lambda: acting.role(_seat(shell, person), shell.parts.town, RoleAsked(wanted)))
        if taken is not None:
            ui.notify("Handed over. It is so in a moment.", type="positive")

    shell.dock.put(f"role {person} {played}", draw)
