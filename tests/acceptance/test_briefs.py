"""Any brief becomes an office that works (issue 2): three that are named there, and fifty from the occupation index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from services.offline.generator import OfflineGenerator
from services.packages.generate import generate
from services.packages.occupations import OccupationIndex
from services.sandbox.bubblewrap import Bubblewrap
from services.storage.memory import MemoryBlobs
from simulator.errors import SandboxUnavailable
from simulator.events import ActivationLanded, DelegationOpened, MailSent, Payload, RequestMade, decode
from simulator.office import Office
from simulator.package import Package
from simulator.package_checks import check
from simulator.ports import Blob
from tests.offline.town import Town
from tests.orchestrator.support import Desk

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(600)]
SEED = 7
DAY = 86_400
BRIEFS = {
    "clinic": ("A nine-person clinical trial operations group serving two biotech sponsors", "clinical", 9, 2),
    "studio": ("A product-design studio", "design", None, None),
    "law": ("A small law firm", "legal", None, None),
}


# -- three briefs, from the sentence to the tenth day -------------------------------------------------------------------


@pytest.mark.parametrize("name", BRIEFS)
def test_a_brief_is_made_checked_and_lived_for_ten_days(empty_desk: Desk, tmp_path: Path, name: str) -> None:
    brief, domain, people, clients = BRIEFS[name]
    folder = tmp_path / name
    made = empty_desk.json("new", brief, "-o", folder, "--seed", str(SEED))
    assert made == {"package": str(folder)}
    assert empty_desk.json("check", folder) == {"faults": []}
    ran = empty_desk.json("run", folder, "--days", "10", "--seed", str(SEED))
    house = empty_desk.house()
    office = house.office(house.row(ran["office"]))
    house.close()
    assert office.domain == domain
    staff = [p for p in office.people.values() if p.kind == "staff"]
    assert people in (None, len(staff), ran["counts"]["people"]) and ran["counts"]["people"] == len(staff)
    assert clients in (None, len(office.clients))
    assert {m.client for m in office.matters.values() if m.client} == set(office.clients), "each is served"
    _does_not_stall(office)
    assert ran["counts"]["delegations"] >= 3 and ran["counts"]["reviews"]["accept"] >= 2, ran["counts"]


def test_the_nine_serve_two_biotech_sponsors(tmp_path: Path) -> None:
    package = _offline(BRIEFS["clinic"][0], SEED)
    assert len(package.people) == 9
    assert [client.sector for client in package.organization.clients] == ["biotech", "biotech"]


def _does_not_stall(office: Office) -> None:
    """Whatever was delegated or asked more than five days ago has come to an end."""
    late = [
        (d.id, d.state) for d in office.delegations.values()
        if office.now - d.at > 5 * DAY and d.state not in ("accepted", "withdrawn")
    ]  # fmt: skip
    assert not late, late
    assert any(office.now - d.at > 5 * DAY for d in office.delegations.values()), "nobody delegated anything so early"
    old = [r.id for r in office.requests.values() if r.state == "open" and office.now - r.at > 5 * DAY]
    assert not old, "requests that nobody took up"


@pytest.mark.parametrize("name", BRIEFS)
def test_two_seeds_of_one_brief_differ_in_people_ledgers_and_rhythms(name: str) -> None:
    one, other = (_offline(BRIEFS[name][0], seed) for seed in (SEED, SEED + 1))
    people = [{card.name for card in package.people} for package in (one, other)]
    assert len(people[0] & people[1]) <= len(people[0]) // 2
    ledgers = [{m.path: p.files[m.source_path] for m in p.materials if m.records} for p in (one, other)]
    assert ledgers[0] and ledgers[1]
    assert not set(ledgers[0].values()) & set(ledgers[1].values()), "no ledger twice"
    assert one.rhythms != other.rhythms
    assert _offline(BRIEFS[name][0], SEED) == one, "and the same seed gives the same package"


# -- fifty briefs -------------------------------------------------------------------------------------------------------


def _fifty() -> list[tuple[str, int, int, int]]:
    """Draw (occupation title, people, clients, seed): each field of work in turn, each title at most once."""
    draw = Random(2)  # noqa: S311  # which briefs are tried is no secret
    by_field: dict[str, list[str]] = {}
    for occupation in OccupationIndex.load().office:
        by_field.setdefault(occupation.domain or occupation.field, []).append(occupation.title)
    titles: list[str] = []
    rows = [draw.sample(found, len(found)) for _, found in sorted(by_field.items())]
    while len(titles) < 50:
        titles += [row.pop() for row in rows if row]
    return [(title, draw.randint(3, 14), draw.randint(1, 4), draw.randrange(2**31)) for title in titles[:50]]


DRAWN = _fifty()


class Handed:
    """The store of whichever office works now: one sandbox provider serves them one after the other."""

    def __init__(self) -> None:
        self.office = MemoryBlobs()

    def put(self, data: bytes) -> Blob:
        """Keep bytes for the office at work."""
        return self.office.put(data)

    def get(self, sha256: str) -> bytes:
        """Return bytes of the office at work."""
        return self.office.get(sha256)

    def has(self, sha256: str) -> bool:
        """Whether the office at work has these bytes."""
        return self.office.has(sha256)


class Fifty:
    """Lets offices live for two days, each once, in sandboxes of one provider."""

    def __init__(self, store: Handed, boxes: Bubblewrap) -> None:
        self._store, self._boxes = store, boxes
        self._lived: dict[str, tuple[Office, list[Payload]]] = {}

    def lived(self, title: str, package: Package, seed: int) -> tuple[Office, list[Payload]]:
        """Return the office after two days and everything that happened in it."""
        if title not in self._lived:
            town = Town(seed, package=package)
            self._store.office = town.blobs
            self._lived[title] = town.run(2, self._boxes), [decode(data).payload for data in town.disk.log]
        return self._lived[title]


@pytest.fixture(scope="module")
def fifty() -> Iterator[Fifty]:
    """One sandbox provider for all fifty."""
    store = Handed()
    boxes = Bubblewrap(store)
    try:
        boxes.check()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
    yield Fifty(store, boxes)
    boxes.close()


@pytest.mark.parametrize(("title", "people", "clients", "seed"), DRAWN)
def test_fifty_briefs_pass_check_and_live_two_days(
    fifty: Fifty, title: str, people: int, clients: int, seed: int
) -> None:
    package = _of_occupation(title, people, clients, seed)
    assert check(package, OccupationIndex.load().codes) == []
    assert (len(package.people), len(package.organization.clients)) == (people, clients)
    office, happened = fifty.lived(title, package, seed)
    assert office.now > office.opened_at + DAY, "the second day was lived"
    ended = Counter(p.outcome for p in happened if isinstance(p, ActivationLanded))
    assert ended["done"] >= people and set(ended) <= {"done", "withdrawn"}, ended


def test_most_of_them_have_work_within_two_days(fifty: Fifty) -> None:
    """Demands come when they come; but an office to which nobody brings anything would be no office."""
    assert len({title for title, *_ in DRAWN}) == len(DRAWN) == 50
    busy, done = 0, 0
    for title, people, clients, seed in DRAWN:
        _, happened = fifty.lived(title, _of_occupation(title, people, clients, seed), seed)
        busy += any(isinstance(p, MailSent) for p in happened) and any(isinstance(p, RequestMade) for p in happened)
        done += any(isinstance(p, DelegationOpened) for p in happened)
    assert busy >= 25 and done >= 15, (busy, done)


def _of_occupation(title: str, people: int, clients: int, seed: int) -> Package:
    return _offline(f"A {people}-person group of {title.lower()} serving {clients} clients", seed)


def _offline(brief: str, seed: int) -> Package:
    return generate(brief, OfflineGenerator(), seed=seed)
