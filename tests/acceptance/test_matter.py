"""The offline professional lives a matter such as STORY.md tells, by itself, within a simulated month (issue 2).

Each link is an event of the log that names the one before it; the chain is then told again by `why` (`tracing`), which
must lead from the mail that the client got back to the mail that the client had sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
import pytest

from orchestrator.tracing import trace
from simulator.access import can
from simulator.events import (
    DelegationOpened,
    Event,
    FileAccepted,
    FileClassified,
    FileShared,
    MailSent,
    MemoryClosed,
    MemoryNoted,
    Payload,
    QuestionAnswered,
    QuestionAsked,
    RequestAnswered,
    RequestMade,
    WorkReviewed,
    WorkSubmitted,
)
from simulator.office import Office
from simulator.records import Delegation, FileRef, Mail, Request
from tests.acceptance.halfyear import Lived

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1500)]
MONTH = 30 * 86_400
P = TypeVar("P", bound=Payload)


class Matter(msgspec.Struct, frozen=True):
    """One piece of work from a client's mail to the mail that answers it: its links in order, each a revision."""

    brought: Mail
    request: Request
    delegation: Delegation
    sent: Mail
    links: dict[str, int]
    decisions: tuple[str, ...]

    @property
    def in_order(self) -> bool:
        """Whether the links came in the order of the story."""
        order = [self.links[name] for name in LINKS]
        return order == sorted(order)


LINKS = (
    "mail", "promise", "request", "accepted request", "delegation", "submission", "sent back", "last submission", "accept",
    "share", "sign-off", "release", "answer", "kept",
)  # fmt: skip


class Part:
    """The beginning of an office's log."""

    def __init__(self, events: list[Event]) -> None:
        self.head = len(events)
        self._events = events

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield it."""
        for event in self._events[after:upto]:
            yield event.revision, event.encode()

    def load_checkpoint(self, fold_version: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """There is none."""
        return None


class Month:
    """The first thirty days, and what can be found in them."""

    def __init__(self, lived: Lived) -> None:
        self.lived = lived
        until = lived.office.opened_at + MONTH
        self.events = [event for event in lived.events if event.sim_time < until]
        self.log = Part(self.events)
        self.office: Office = lived.at(self.log.head)

    def of(self, kind: type[P]) -> list[tuple[Event, P]]:
        return [(event, event.payload) for event in self.events if isinstance(event.payload, kind)]

    def first(self, kind: type[P], fits: Callable[[Event, P], bool], after: int = 0) -> tuple[int, P] | None:
        """Return the first such event after a revision."""
        return next(((e.revision, p) for e, p in self.of(kind) if e.revision > after and fits(e, p)), None)

    def matters(self) -> list[Matter]:
        """Return every piece of work that went all the way, and not at the first try."""
        found = [self._matter(event.revision, p.delegation) for event, p in self.of(DelegationOpened)]
        return [matter for matter in found if matter is not None]

    def _matter(self, opened: int, delegation: Delegation) -> Matter | None:
        request = self.office.requests.get(delegation.request)
        rounds = self.office.delegations[delegation.id].rounds
        last = rounds[-1].review
        if request is None or last is None or last.decision != "accept" or len(rounds) < 2:
            return None
        links: dict[str, int] = {"delegation": opened}
        brought = self._brought(request, links)
        if brought is None or not self._worked(request, delegation, links):
            return None
        files = set(last.files)
        sent = self._released(request, files, links)
        if sent is None or not self._kept(request, brought, sent, links):
            return None
        decisions = tuple(r.review.decision for r in rounds if r.review is not None)
        return Matter(brought, request, self.office.delegations[delegation.id], sent, links, decisions)

    def _note(self, links: dict[str, int], name: str, found: tuple[int, Payload] | None) -> bool:
        if found is not None:
            links[name] = found[0]
        return found is not None

    def _brought(self, request: Request, links: dict[str, int]) -> Mail | None:
        """The client's mail whose attachments the request is about, and the request and its acceptance."""
        papers = set(request.materials)
        mail = self.first(
            MailSent,
            lambda e, p: self.office.people[p.mail.sender].kind == "client" and papers <= set(p.mail.attachments),
        )
        if mail is None or not papers:
            return None
        named = self._note(links, "mail", mail)
        made = self.first(RequestMade, lambda e, p: p.request.id == request.id)
        named &= self._note(links, "request", made)
        taken = self.first(RequestAnswered, lambda e, p: p.request == request.id and p.state == "accepted")
        named &= self._note(links, "accepted request", taken)
        return mail[1].mail if named else None

    def _worked(self, request: Request, delegation: Delegation, links: dict[str, int]) -> bool:
        """Submissions and reviews: at least one sent back, the last accepted by whoever the request is addressed to."""

        def ours(p: WorkSubmitted | WorkReviewed) -> bool:
            return p.delegation == delegation.id

        reviews = [(e.revision, p.review) for e, p in self.of(WorkReviewed) if ours(p)]
        handed = [e.revision for e, p in self.of(WorkSubmitted) if ours(p)]
        back = [revision for revision, review in reviews if review.decision != "accept"]
        if not back or not handed or delegation.principal != request.owner:
            return False
        links |= {
            "submission": handed[0],
            "sent back": back[0],
            "last submission": handed[-1],
            "accept": reviews[-1][0],
        }
        return True

    def _released(self, request: Request, files: set[FileRef], links: dict[str, int]) -> Mail | None:
        """Shared with the team, signed off, classified for the client, and sent: exactly the accepted versions."""
        client = self.office.matters[request.matter].client

        def signs(e: Event, p: FileAccepted) -> bool:
            a = p.acceptance
            return a.capacity == "quality_signoff" and FileRef(a.file, a.version) in files and a.by != request.owner

        team = f"matter:{request.matter}"
        shared = self.first(
            FileShared, lambda e, p: FileRef(p.grant.file, p.grant.version) in files and p.grant.audience == team
        )
        freed = self.first(FileClassified, lambda e, p: FileRef(p.file, p.version) in files and client in p.release)
        sent = self.first(
            MailSent,
            lambda e, p: (
                set(p.mail.attachments) == files and {self.office.people[to].client for to in p.mail.to} == {client}
            ),
        )
        signed = self.first(FileAccepted, signs)
        named = self._note(links, "share", shared) and self._note(links, "sign-off", signed)
        named = named and self._note(links, "release", freed) and self._note(links, "answer", sent)
        return sent[1].mail if named and sent is not None else None

    def _kept(self, request: Request, brought: Mail, sent: Mail, links: dict[str, int]) -> bool:
        """The request is fulfilled with these files, the promise that was made for the mail is closed."""
        fulfilled = self.first(
            RequestAnswered,
            lambda e, p: p.request == request.id and p.state == "fulfilled" and set(p.results) >= set(sent.attachments),
        )
        promise = self.first(
            MemoryNoted,
            lambda e, p: (
                p.memory.kind == "commitment" and p.memory.about == brought.id and p.memory.holder == request.asker
            ),
        )
        if promise is None or not self._note(links, "fulfilled", fulfilled):
            return False
        links["promise"] = promise[0]
        closed = self.first(MemoryClosed, lambda e, p: p.memory == promise[1].memory.id)
        return self._note(links, "kept", closed)


@pytest.fixture(scope="module")
def month(half_year: Lived) -> Month:
    return Month(half_year)


@pytest.fixture(scope="module")
def matters(month: Month) -> list[Matter]:
    return month.matters()


def test_a_matter_goes_from_the_clients_mail_back_to_the_client(matters: list[Matter]) -> None:
    """Mail, promise, request, delegation, revision, acceptance, sharing, sign-off, release, answer, promise kept."""
    whole = [matter for matter in matters if matter.in_order]
    assert [matter for matter in whole if "revise" in matter.decisions]
    for matter in whole:
        assert matter.brought.sender in matter.sent.to, "who asked is answered"
        assert matter.request.asker == matter.brought.to[0] == matter.sent.sender
        assert matter.links["sign-off"] < matter.links["fulfilled"] < matter.links["kept"]


def test_of_these_some_were_revised_some_supplemented_and_some_asked_about(month: Month, matters: list[Matter]) -> None:
    decisions = {decision for matter in matters for decision in matter.decisions}
    assert decisions == {"revise", "supplement", "accept"}, [(m.delegation.id, m.decisions) for m in matters]
    asked = {p.delegation for _, p in month.of(QuestionAsked)}
    answered = {p.delegation for _, p in month.of(QuestionAnswered)}
    assert {matter.delegation.id for matter in matters} & asked & answered, "one was clarified while it was being done"


def test_nobody_but_the_principal_saw_a_draft_before_it_was_shared(month: Month, matters: list[Matter]) -> None:
    """STORY: a submission is the principal's draft; who signs and who sends sees it once it is shared, the client once sent."""
    for matter in matters:
        ref = matter.sent.attachments[0]
        principal, contact, lead = matter.request.owner, matter.brought.sender, matter.request.asker
        moments = {
            "last submission": {principal: True, lead: principal == lead, contact: False},
            "accept": {principal: True, lead: principal == lead, contact: False},
            "sign-off": {principal: True, lead: True, contact: False},
            "answer": {principal: True, lead: True, contact: True},
        }
        for name, expected in moments.items():
            office = month.lived.at(matter.links[name])
            if ref.file not in office.files or len(office.files[ref.file].versions) < ref.version:
                continue
            seen = {person: can(person, "read", ref, office).allowed for person in expected}
            assert seen == expected, (matter.delegation.id, name)


def test_why_tells_it_again_from_the_answer_back_to_the_question(month: Month, matters: list[Matter]) -> None:
    for matter in matters:
        steps = trace(month.log, matter.sent.id)
        chain = {step.revision: step.text for step in steps}
        for name in ("answer", "delegation", "request", "mail"):
            assert matter.links[name] in chain, (matter.delegation.id, name, chain)
        assert list(chain) == sorted(chain, reverse=True), "the latest first"
        assert steps[0].revision == matter.links["answer"] and "mails" in steps[0].text
        saved = [text for text in chain.values() if "saves" in text]
        assert saved, "what was sent was made by somebody"


def test_why_tells_of_the_signature_too(month: Month, matters: list[Matter]) -> None:
    """From a quality sign-off back: to the file, to the review that it was asked for, and to the client's mail."""
    for matter in matters:
        signed = next(
            p.acceptance.id for event, p in month.of(FileAccepted) if event.revision == matter.links["sign-off"]
        )
        chain = {step.revision for step in trace(month.log, signed)}
        assert {matter.links["sign-off"], matter.links["delegation"], matter.links["mail"]} <= chain
