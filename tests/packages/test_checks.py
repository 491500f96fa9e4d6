"""Each bad package gives its fault, with file and line, in a sentence (DESIGN 11)."""

from __future__ import annotations

import pytest

from services.packages.occupations import OccupationIndex
from simulator.package import Fault
from simulator.package_checks import check_files
from simulator.package_findings import bad_path
from tests.packages.samples import sample, spoiled

ORG, RHY, MAT = "organization.yaml", "rhythms.yaml", "materials/materials.yaml"
BO, CY, ANA = "people/bo.yaml", "people/cy.yaml", "people/ana.yaml"

# (file, old text, new text, file of the fault, its line, words of its sentence)
SPOILED: list[tuple[str, str, str, str, int, str]] = [
    (ORG, "domain: finance\nstart", "domain: alchemy\nstart", ORG, 2, "domain `alchemy`"),
    (ORG, "start: 2026-01-05", "start: 2026-02-30", ORG, 3, "does not have the form"),
    (ORG, "start: 2026-01-05\n", "", ORG, 1, "field `start` is missing"),
    (ORG, "currency: GBP", "currency: pounds", ORG, 4, "no currency code"),
    (ORG, "currency: GBP", "currency: GBP\nname: Twice", ORG, 5, "key `name` is given twice"),
    (ORG, "currency: GBP", "colour: blue", ORG, 4, "field `colour` is not known"),
    (ORG, "currency: GBP", "pace: {principal_turn: 0}", ORG, 4, "may be 1 to 10000"),
    (ORG, "currency: GBP", "pace: {principal_turn: 99999999999999999999}", ORG, 4, "may be 1 to 10000"),
    (ORG, "currency: GBP", "turn_limit: 2", ORG, 4, "may be 4 to 1000"),
    (ORG, "start: 2026-01-05", "start: 0001-01-01", ORG, 3, "outside the years"),
    (ORG, "name: Sample", "name: ''", ORG, 1, "name is empty"),
    (ORG, "name: Sample", 'name: "a\\nb"', ORG, 1, "not one line of clean text"),
    (ORG, "name: Books", "name: Cafe\u0301", ORG, 11, "not one line of clean text"),
    (BO, "title: Accountant", "title: ' '", BO, 3, "name is empty"),
    (RHY, "first: 2026-01-06 09:30", "first: 9999-12-31 23:59", RHY, 6, "beyond the year"),
    (ORG, "zone: Europe/London", "zone: Europe/Atlantis", ORG, 6, "no time zone"),
    (ORG, "zone: Europe/London", "zone: ../../etc/passwd", ORG, 6, "no time zone"),
    (ORG, "zone: Europe/London", "zone: Europe/London\n  opens: '9'", ORG, 7, "no time of day"),
    (ORG, "zone: Europe/London", "zone: Europe/London\n  opens: '18:00'", ORG, 7, "hours"),
    (ORG, "zone: Europe/London", "zone: Europe/London\n  weekdays: [mon, moon]", ORG, 7, "`moon` is no weekday"),
    (ORG, "- 2026-04-03", "- 2026-13-03", ORG, 8, "holiday `2026-13-03` is no date"),
    (ORG, "- id: quality", "- id: books", ORG, 12, "department id `books` is used twice"),
    (
        ORG,
        "- id: quality\n    name: Quality",
        "- id: quality\n    name: Quality\n  - id: empty\n    name: E",
        ORG,
        14,
        "Nobody",
    ),
    (ORG, "- id: birch\n    name", "- id: acme\n    name", ORG, 22, "client id `acme` is used twice"),
    (ORG, "- id: bea", "- id: wim", ORG, 25, "contact id `wim` is used twice"),
    (ORG, "- id: bea", "- id: cy", ORG, 25, "that of a member of staff"),
    (ORG, "wim@acme.example", "wim at acme", ORG, 21, "malformed"),
    (ORG, "client: birch", "client: beech", ORG, 35, "client `beech` does not exist"),
    (ORG, "members: [ana, cy]", "members: [ana, zed]", ORG, 37, "member `zed`"),
    (ORG, "members: [ana, cy]", "members: [cy]", ORG, 36, "lead `ana` is not a member"),
    (ORG, "lead: ana\n    members: [ana, cy]", "lead: cy\n    members: [ana, cy]", ORG, 36, "not the authority `lead`"),
    (ORG, "name: Birch books", "name: ../up", ORG, 34, "cannot be the name of a folder"),
    (ORG, "name: Birch books", "name: ACME books", ORG, 34, "matter name `acme books` is used twice"),
    (ORG, "id: acme-books", "id: Acme Books", ORG, 28, "is not lower-case letters"),
    (ORG, "currency: GBP", "currency: &x GBP\nbrief: *x", ORG, 5, "Anchors and aliases"),
    (BO, "id: bo", "id: bob", BO, 1, "must be the file's name"),
    (BO, "name: Bo", "name: Ana", BO, 2, "borne by more than one"),
    (BO, "code: 13-2011.00", "code: 13-9999.99", BO, 4, "not in the occupation index"),
    (BO, "code: 13-2011.00", "code: accountant", BO, 4, "no O*NET-SOC code"),
    (BO, "code: 13-2011.00\n", "", BO, 1, "field `code` is missing"),
    (BO, "department: books", "department: cellar", BO, 5, "department `cellar` does not exist"),
    (BO, "manager: ana", "manager: zed", BO, 6, "manager `zed` does not exist"),
    (BO, "authority: [delegate, accept]", "authority: [rule]", BO, 7, "`rule` is no authority"),
    (BO, "clearance: confidential", "clearance: cosmic", BO, 8, "`cosmic` is not one of those allowed"),
    (BO, "skills: [digest]", "skills: [digest, magic]", BO, 9, "skill `magic` has no pack"),
    (CY, "authority: [quality_signoff]", "authority: []", "people", 0, "Nobody may sign off quality"),
    (ANA, "client_release, ", "", "people", 0, "Nobody may release work to a client"),
    (RHY, "rule: FREQ=WEEKLY;BYDAY=MO", "rule: FREQ=SOMETIMES", RHY, 8, "no recurrence rule"),
    (RHY, "first: 2026-01-06 09:30", "first: tomorrow", RHY, 6, "is no time"),
    (RHY, "first: 2026-01-06 09:30", "first: 2025-01-06 09:30", RHY, 6, "before the office opens"),
    (RHY, "minutes: 15", "minutes: 0", RHY, 7, "no length"),
    (RHY, "minutes: 15", "minutes: 15\n    kind: party", RHY, 8, "`party` is not one of those allowed"),
    (RHY, "attendees: [ana, bo]", "attendees: [ana, cy]", RHY, 5, "`cy` is not a member of the matter"),
    (RHY, "organizer: ana", "organizer: wim", RHY, 4, "nobody of the staff"),
    (RHY, "kind: digest", "kind: alchemy", RHY, 14, "kind of work `alchemy` is unknown"),
    (RHY, "matter: acme-books\n    kind", "matter: birch-books\n    kind", RHY, 13, "not one of the contact's client"),
    (RHY, "contact: wim", "contact: bo", RHY, 12, "contact `bo` does not exist"),
    (RHY, "cadence: weekly", "cadence: hourly", RHY, 15, "`hourly` is not one of those allowed"),
    (RHY, "day: 2", "day: 6", RHY, 16, "no business day of a weekly period"),
    (RHY, "jitter_days: 1", "jitter_days: -1", RHY, 17, "out of range"),
    (MAT, "path: Handbook.md", "path: ../Handbook.md", MAT, 3, "leaves its folder with `..`"),
    (MAT, "path: Handbook.md", "path: /etc/Handbook.md", MAT, 3, "is absolute"),
    (MAT, "file: handbook.md", "file: missing.md", MAT, 2, "`materials/missing.md` does not exist"),
    (MAT, "space: home:bo", "space: home:zed", MAT, 33, "space `home:zed` does not exist"),
    (MAT, "path: Statement.csv", "path: INVOICES.csv", MAT, 24, "is used twice"),
    (MAT, "space: company\n    owner: ana", "space: company\n    owner: zed", MAT, 5, "owner `zed`"),
    (MAT, "provenance: adapted", "provenance: stolen", MAT, 20, "`stolen` is not one of those allowed"),
    (MAT, "period: 2026-01", "period: January", MAT, 22, "`January` is no month"),
    (MAT, "ties: invoices.csv", "ties: balance.csv", "materials/statement.csv", 1, "no invoice register"),
    (MAT, "level: confidential", "audience: [everyone]", MAT, 12, "not all inside the wall of `acme-books`"),
    (MAT, "level: confidential", "audience: ['person:cy']", MAT, 12, "not all inside the wall"),
    (MAT, "level: confidential", "walls: [nowhere]", MAT, 12, "wall `nowhere` is no matter"),
    (
        "materials/balance.csv",
        "120.50,0.00",
        "120.49,0.00",
        "materials/balance.csv",
        3,
        "does not balance: debits 120.49",
    ),
    ("materials/balance.csv", "120.50,0.00", "a lot,0.00", "materials/balance.csv", 2, "no amount with two decimals"),
    ("materials/balance.csv", "3000,", "1000,", "materials/balance.csv", 3, "account `1000` occurs twice"),
    ("materials/balance.csv", "account,", "konto,", "materials/balance.csv", 1, "column `account` is missing"),
    ("materials/journal.csv", "0.00,5.00", "0.00,5.01", "materials/journal.csv", 3, "entry `J1` does not balance"),
    ("materials/invoices.csv", "2026-01-09", "2026-02-09", "materials/invoices.csv", 3, "not in the period 2026-01"),
    ("materials/statement.csv", "20.05", "20.06", "materials/statement.csv", 3, "is 20.06 here and 20.05"),
    ("materials/statement.csv", "A-2", "A-3", "materials/statement.csv", 3, "`A-3` is not in"),
    (
        "skills/digest/SKILL.md",
        "name: digest",
        "name: other",
        "skills/digest/SKILL.md",
        2,
        "must be that of its folder",
    ),
    ("skills/digest/SKILL.md", "description: Digests records.\n", "", "skills/digest/SKILL.md", 1, "is missing"),
    ("provenance.json", "{}", "[", "provenance.json", 1, "must be a JSON object"),
]


def faults_of(files: dict[str, bytes]) -> list[Fault]:
    return check_files(files, OccupationIndex.load().codes)[1]


def test_the_sample_is_sound() -> None:
    assert faults_of(sample()) == []


@pytest.mark.parametrize(("file", "old", "new", "where", "line", "words"), SPOILED)
def test_each_fault_is_named_with_file_and_line(
    file: str, old: str, new: str, where: str, line: int, words: str
) -> None:
    faults = faults_of(spoiled(file, old, new))
    assert any((f.file, f.line) == (where, line) and words in f.text for f in faults), faults
    assert all(fault.text.endswith((".", "`.")) for fault in faults), "every fault is a complete sentence"


def test_a_cycle_in_the_reporting_lines_shows_the_way_round() -> None:
    faults = faults_of({**spoiled("people/ana.yaml", "department: books", "department: books\nmanager: bo")})
    cycle = [fault for fault in faults if "cycle" in fault.text]
    assert [(f.file, f.line) for f in cycle] == [("people/ana.yaml", 6), ("people/bo.yaml", 6)]
    assert "ana -> bo -> ana" in cycle[0].text
    assert any("Nobody heads the office" in fault.text for fault in faults)


def test_two_heads_are_one_too_many() -> None:
    faults = faults_of(spoiled(BO, "manager: ana\n", ""))
    assert [(f.file, "one person heads" in f.text) for f in faults] == [(BO, True)]


def test_the_role_card_of_nobody_and_a_demand_that_no_member_can_do() -> None:
    files = spoiled(BO, "skills: [digest]", "skills: []")
    assert faults_of(files) == [], "ana covers the demand"
    files[ANA] = files[ANA].replace(b"skills: [digest]", b"skills: []")
    assert [(f.file, f.line) for f in faults_of(files)] == [(RHY, 14)]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"a: [1, 2", "not YAML"),
        (b"- a\n- b\n", "must be a map"),
        (b"a: \x00", "characters that YAML does not allow"),
        (b"a: " + b"[" * 5000 + b"]" * 5000, "not YAML|nested too deeply|missing"),
        (b"a: " + b"x" * 1_100_000, "bytes"),
        (b"a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n", "Anchors"),
    ],
)
def test_hostile_yaml_is_a_fault_and_never_a_crash(data: bytes, words: str) -> None:
    faults = faults_of({**sample(), ORG: data})
    mine = [fault.text for fault in faults if fault.file == ORG]
    assert any(any(word in text for word in words.split("|")) for text in mine), mine


def test_every_fault_is_told_at_once() -> None:
    files = spoiled(ORG, "client: birch", "client: beech")
    files[BO] = files[BO].replace(b"department: books", b"department: cellar")
    files["materials/balance.csv"] = files["materials/balance.csv"].replace(b"0.00,120.50", b"0.00,1.00")
    found = {fault.file for fault in faults_of(files)}
    assert found == {ORG, BO, "materials/balance.csv"}


def test_names_that_clash_in_case_or_unicode_form_are_refused() -> None:
    clash = {**sample(), "materials/HANDBOOK.md": b"x"}
    assert any("differs from" in fault.text for fault in faults_of(clash))
    decomposed = {**sample(), "materials/Re\u0301sume\u0301.md": b"x"}
    assert any("NFC" in fault.text for fault in faults_of(decomposed))


def test_what_is_not_listed_or_has_no_place_is_refused() -> None:
    stray = faults_of({**sample(), "materials/stray.md": b"x", "attic/old.md": b"x", "people/notes.txt": b"x"})
    assert {fault.file for fault in stray} == {"materials/stray.md", "attic/old.md", "people/notes.txt"}


def test_missing_parts_are_named() -> None:
    for gone in (ORG, RHY, MAT, "provenance.json", "skills/digest/SKILL.md"):
        files = sample()
        del files[gone]
        assert any(fault.file == gone for fault in faults_of(files)), gone


@pytest.mark.parametrize(
    "path", ["", "/a", "a\\b", "C:/a", "a/../b", "a//b", "./a", "a\nb", "a\udce9", " a", "a./b", "x" * 300]
)
def test_bad_paths(path: str) -> None:
    assert bad_path(path)


@pytest.mark.parametrize("path", ["a", "a/b.md", "Ünïcode/größe.csv", "a..b", "x y"])
def test_good_paths(path: str) -> None:
    assert not bad_path(path)
