"""Packages from briefs: the numbers honoured, the words followed, faults shown to the model, repairs bounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.offline.generator import OfflineGenerator, place
from services.packages.folder import read_package, write_package
from services.packages.generate import REPAIRS, generate
from services.packages.occupations import OccupationIndex
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import PackageError, UsageError, WorkFailed
from simulator.package import Package
from simulator.package_checks import check
from simulator.view import view
from tests.packages.opening import opened

CODES = OccupationIndex.load().codes
TITLES = [one.title for one in OccupationIndex.load().office]


def offline(brief: str, seed: int = 1, people: int | None = None, clients: int | None = None) -> Package:
    return generate(brief, OfflineGenerator(), people, clients, seed)


class Bent:
    """The offline generator with some of its answers bent: (stage, attempt) -> what becomes of the answer's text."""

    def __init__(self, bends: dict[tuple[str, int], Callable[[str], str]], finish: str = "stop") -> None:
        self.bends = bends
        self.finish = finish
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> ModelResponse:
        self.requests.append(request)
        answer = OfflineGenerator().complete(request)
        stage, attempt = request.call[0].removeprefix("generate."), request.call[1]
        if (stage, attempt) not in self.bends:
            return answer
        return ModelResponse(content=self.bends[stage, attempt](answer.content), finish=self.finish)  # type: ignore[arg-type]


# -- the numbers and the words ----------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(
    title=st.sampled_from(TITLES),
    people=st.integers(3, 40),
    clients=st.integers(1, 20),
    seed=st.integers(0, 2**31),
)
def test_any_occupation_any_size_any_number_of_clients_passes_check(
    title: str, people: int, clients: int, seed: int
) -> None:
    package = offline(f"A {people}-person group of {title.lower()} serving {clients} clients", seed)
    assert check(package, CODES) == []
    assert len(package.people) == people
    assert len(package.organization.clients) == clients
    assert "no trade" not in package.organization.placement, "an occupation of the index places a brief"


@pytest.mark.parametrize(
    ("brief", "domain", "people", "clients"),
    [
        ("A nine-person clinical trial operations group serving two biotech sponsors", "clinical", 9, 2),
        ("A product-design studio of seven people", "design", 7, 2),
        ("A small law firm", "legal", 6, 2),
        ("Bookkeepers for hotels, 20 people", "finance", 20, 3),
        ("An inspection laboratory for motor works", "quality", 12, 3),
        ("A cloud software company serving law firms", "software", 12, 3),
        ("Management consultants, 10 staff", "general", 10, 3),
        ("Two lawyers and a paralegal", "legal", 12, 3),
    ],
)
def test_a_brief_is_placed_by_its_words(brief: str, domain: str, people: int, clients: int) -> None:
    package = offline(brief)
    organization = package.organization
    assert (organization.domain, len(package.people), len(organization.clients)) == (domain, people, clients)
    assert organization.brief == brief
    assert "for the brief says" in organization.placement


def test_sponsors_get_the_sector_that_the_brief_gives_them() -> None:
    clients = offline("A clinical group of nine people serving two biotech sponsors").organization.clients
    assert {client.sector for client in clients} == {"biotech"}


def test_occupations_that_a_brief_names_get_their_seats() -> None:
    codes = [card.code for card in offline("A law firm with four paralegals and two lawyers, 12 people").people]
    assert codes.count("23-2011.00") >= 4
    assert codes.count("23-1011.00") >= 2


def test_a_brief_that_names_no_trade_is_said_to_be_placed_in_a_general_office() -> None:
    told: list[tuple[str, str]] = []
    package = generate(
        "Zorbing on the moon", OfflineGenerator(), progress=lambda stage, text: told.append((stage, text))
    )
    assert package.organization.domain == "general"
    assert "placed in a general office" in package.organization.placement
    assert any("placed in a general office" in text for stage, text in told if stage == "structure")
    assert [stage for stage, _ in told] == ["structure", "people", "clients", "rhythms", "materials"]


def test_who_is_served_does_not_decide_what_a_firm_is() -> None:
    assert place("An accounting firm serving law firms")[0].domain == "finance"
    assert place("A law firm serving accountants")[0].domain == "legal"


def test_places_bring_their_zone() -> None:
    calendar = offline("A law firm in New York").organization.calendar
    assert calendar.zone == "America/New_York" and "2026-11-26" in calendar.holidays


# -- seeds and numbers given ------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_package_and_another_seed_another() -> None:
    brief = "A nine-person clinical trial operations group serving two biotech sponsors"
    first, again, other = offline(brief, 7), offline(brief, 7), offline(brief, 8)
    assert first.digest == again.digest
    assert {card.name for card in first.people} != {card.name for card in other.people}
    assert [client.name for client in first.organization.clients] != [c.name for c in other.organization.clients]
    assert [(e.first, e.rule) for e in first.rhythms] != [(e.first, e.rule) for e in other.rhythms]
    ledgers = [m.source_path for m in first.materials if m.records == "trial-balance"]
    assert ledgers == ["materials/office/trial-balance.csv"]
    assert first.files[ledgers[0]] != other.files[ledgers[0]]


def test_numbers_given_override_the_brief() -> None:
    package = offline("nine people serving two clients, lawyers", people=4, clients=5)
    assert (len(package.people), len(package.organization.clients)) == (4, 5)


@pytest.mark.parametrize(("people", "clients"), [(3, 1), (3, 20), (4, 2), (200, 1), (200, 20)])
def test_the_smallest_and_the_largest_firms(people: int, clients: int) -> None:
    for brief in ("accountants", "an architecture studio"):
        package = offline(brief, people=people, clients=clients)
        assert (len(package.people), len(package.organization.clients)) == (people, clients)
        quality = {card.id for card in package.people if "quality_signoff" in card.authority}
        for matter in package.organization.matters:
            assert not matter.client or quality & set(matter.members), "each client's team has a reviewer"


def test_every_demand_can_be_done_by_somebody_below_the_lead() -> None:
    package = offline("A nine-person clinical group serving two biotech sponsors")
    cards = {card.id: card for card in package.people}
    matters = {matter.id: matter for matter in package.organization.matters}
    for demand in package.demands:
        matter = matters[demand.matter]
        workers = [m for m in matter.members if m != matter.lead and "quality_signoff" not in cards[m].authority]
        assert any(demand.kind in cards[m].skills for m in workers)


BRIEFS = ["A small law firm", "Bookkeepers", "A software house of 30 people", "Zorbing, 3 people"]


@pytest.mark.parametrize("brief", BRIEFS)
def test_a_generated_package_opens_an_office_in_which_everything_is_due(brief: str) -> None:
    package = offline(brief)
    office = opened(package)
    assert len(office.people) == len(package.people) + len(package.organization.clients)
    assert len(office.files) == len(package.materials)
    due = {"demand:": len(package.demands), "occ:": len(package.rhythms), "day:": len(package.people)}
    for kind, count in due.items():
        assert sum(key.startswith(kind) for key in office.timers) == count, kind
    for matter in package.organization.matters:
        papers = {m.path for m in package.materials if m.matter == matter.id}
        for member in matter.members:
            seen = [one for one in view(office, member).files() if one.matter == matter.id]
            assert {office.files[one.ref.file].path for one in seen} == papers, "the team sees its papers"


# -- on disk and with one's own documents -----------------------------------------------------------------------------


def test_a_generated_package_is_written_and_read_back(tmp_path: Path) -> None:
    package = offline("A small law firm")
    write_package(package, tmp_path / "firm")
    assert read_package(tmp_path / "firm") == package


def test_own_documents_are_taken_along(tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "notes").mkdir(parents=True)
    (own / "notes/policy.md").write_text("# Policy\n")
    package = generate("accountants", OfflineGenerator(), materials_dir=own)
    taken = [material for material in package.materials if material.provenance == "retrieved"]
    assert [(m.space, m.path, m.owner) for m in taken] == [
        ("company", "Reference/notes/policy.md", package_head(package))
    ]
    assert package.files[taken[0].source_path] == b"# Policy\n"
    (own / "link.md").symlink_to("/etc/hostname")
    with pytest.raises(UsageError, match="link.md: This is a link"):
        generate("accountants", OfflineGenerator(), materials_dir=own)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match="holds no file"):
        generate("accountants", OfflineGenerator(), materials_dir=empty)


def package_head(package: Package) -> str:
    return next(card.id for card in package.people if not card.manager)


def test_provenance_says_where_everything_comes_from() -> None:
    said = json.loads(offline("accountants", 3).files["provenance.json"])
    assert (said["brief"], said["seed"], said["models"]) == ("accountants", 3, ["offline"])
    assert "O*NET" in said["occupations"]


# -- the repair loop --------------------------------------------------------------------------------------------------


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def bend(text: str) -> str:
        data = json.loads(text)
        change(data)
        return json.dumps(data)

    return bend


BENDS: list[tuple[str, Callable[[str], str], str]] = [
    ("structure", lambda text: "I would rather not.", "not one JSON object"),
    ("structure", lambda text: text[: len(text) // 2], "not one JSON object"),
    ("structure", edited(lambda d: d["seats"].pop()), "exactly 6 are wanted"),
    ("structure", edited(lambda d: d["seats"][1].update(code="99-9999.99")), "not in the occupation index"),
    ("structure", edited(lambda d: d["seats"][0].update(manager=d["seats"][1]["id"])), "cycle"),
    ("structure", edited(lambda d: d.update(zone="Mars/Base")), "no time zone"),
    ("structure", edited(lambda d: d.update(mood="good")), "mood: The field `mood` is not known"),
    ("structure", edited(lambda d: d.pop("seats")), "The field `seats` is missing"),
    ("people", edited(lambda d: d["people"][0].update(seat="throne")), "There is no seat `throne`"),
    ("people", edited(lambda d: d["people"][1].update(id=d["people"][0]["id"])), "is used twice"),
    ("people", edited(lambda d: [p.update(authority=[]) for p in d["people"]]), "Nobody may sign off quality"),
    ("people", edited(lambda d: d["people"][0].update(skills=["sorcery"])), "skill `sorcery` has no pack"),
    ("people", edited(lambda d: d["people"][0].update(clearance="cosmic")), "people[0].clearance"),
    ("clients", edited(lambda d: d["clients"].pop()), "exactly 2 are wanted"),
    ("clients", edited(lambda d: d["matters"][0].update(lead="nobody")), "is not a member of the matter"),
    ("rhythms", edited(lambda d: d["entries"][0].update(rule="FREQ=NEVER")), "no recurrence rule"),
    ("rhythms", edited(lambda d: d["demands"][0].update(kind="alchemy")), "kind of work `alchemy` is unknown"),
    ("materials", edited(lambda d: d["files"][0].update(path="../../x")), "leaves its folder"),
    (
        "materials",
        edited(
            lambda d: [
                f.update(text=f["text"] + "9999,Extra,1.00,0.00\n")
                for f in d["files"]
                if f.get("records") == "trial-balance"
            ]
        ),
        "does not balance",
    ),
]


@pytest.mark.parametrize(("stage", "bend", "words"), BENDS)
def test_a_faulty_answer_is_shown_its_faults_and_repaired(stage: str, bend: Callable[[str], str], words: str) -> None:
    model = Bent({(stage, 0): bend, (stage, 1): bend})
    package = generate("A small law firm", model, seed=5)
    assert check(package, CODES) == []
    mine = [request for request in model.requests if request.call[0] == f"generate.{stage}"]
    assert [request.call[1] for request in mine] == [0, 1, 2]
    last: Message = mine[1].messages[-1]
    assert last.role == "user" and words in last.content, last.content
    assert mine[1].messages[-2].role == "assistant", "the model sees its own answer"
    assert all(request.role == "generator" and request.schema for request in model.requests)
    assert len({request.call for request in model.requests}) == len(model.requests), (
        "each call has its own key on the tape"
    )


def test_repairs_are_bounded() -> None:
    model = Bent({("people", n): (lambda text: "no") for n in range(REPAIRS + 1)})
    with pytest.raises(PackageError, match="still has faults after 3 repairs") as refused:
        generate("accountants", model)
    assert refused.value.faults == ("The answer is not one JSON object of the schema.",)
    assert sum(request.call[0] == "generate.people" for request in model.requests) == REPAIRS + 1


def test_a_refusal_ends_it_and_a_cut_answer_is_asked_for_again() -> None:
    with pytest.raises(WorkFailed, match="no answer for the stage `structure`"):
        generate("accountants", Bent({("structure", 0): str}, finish="refusal"))
    model = Bent({("structure", 0): str}, finish="length")
    generate("accountants", model)
    assert "cut off" in model.requests[1].messages[-1].content


def test_words_around_an_answer_and_hostile_text_in_it_are_harmless() -> None:
    fenced = Bent({("structure", 0): lambda text: f"Sure!\n```json\n{text}\n```\n"})
    assert generate("accountants", fenced).people == generate("accountants", OfflineGenerator()).people
    dirty = Bent({("people", 0): edited(lambda d: d["people"][0].update(style="a\x00b\ud800c"))})
    styles = [card.style for card in generate("accountants", dirty).people]
    assert "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c" in styles


def test_other_requests_are_refused_by_the_offline_generator() -> None:
    for content in ("hello", "{}", '{"stage": "song"}', "[1]"):
        request = ModelRequest("generator", ("x", 0), "s", (Message("user", content),))
        assert OfflineGenerator().complete(request).finish == "refusal"
    facts = Message("user", json.dumps({"stage": "structure", "brief": "x", "seed": 1}))
    assert OfflineGenerator().complete(ModelRequest("judge", ("x", 0), "s", (facts,))).finish == "refusal"
