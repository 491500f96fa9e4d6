"""The opening events: in a fixed order, a function of the package, telling nobody of what is not theirs."""

from __future__ import annotations

import msgspec

from simulator import events as e
from simulator.canonical import canonical
from simulator.package import Package, genesis, seed_file_id
from simulator.package_checks import check_files
from tests.packages.opening import Blobs, opened
from tests.packages.samples import sample


def package_of(files: dict[str, bytes]) -> Package:
    package, faults = check_files(files)
    assert package is not None and not faults, faults
    return package


def test_the_office_opens_first_and_names_its_package_and_seed() -> None:
    package = package_of(sample())
    actor, first = genesis(package, 7, Blobs())[0]
    assert actor == "engine" and isinstance(first, e.OfficeOpened)
    assert (first.package, first.seed, first.engine) == (package.digest, 7, e.ENGINE_VERSION)
    assert (first.name, first.currency, first.calendar.holidays) == ("Sample", "GBP", ("2026-04-03",))


def test_genesis_is_a_function_of_package_and_seed_rule_1() -> None:
    first, second = (canonical(genesis(package_of(sample()), 3, Blobs())) for _ in range(2))
    assert first == second
    shuffled = dict(reversed(sample().items()))
    assert canonical(genesis(package_of(shuffled), 3, Blobs())) == first
    other = {**sample(), "materials/handbook.md": b"# Other\n"}
    assert package_of(other).digest != package_of(sample()).digest


def test_every_byte_of_the_package_that_the_office_needs_is_in_the_store() -> None:
    package, blobs = package_of(sample()), Blobs()
    for _, payload in genesis(package, 1, blobs):
        if isinstance(payload, e.FileSaved):
            assert blobs.get(payload.version.blob.sha256)
        if isinstance(payload, e.SkillShelved):
            assert {path: mode for path, _, mode in payload.files} == {"SKILL.md": 0o644, "scripts/digest.py": 0o755}


def test_folded_it_is_the_office_of_the_package() -> None:
    office = opened(package_of(sample()))
    assert sorted(office.people) == ["ana", "bea", "bo", "cy", "wim"]
    assert office.people["bo"].session == "session-bo" and office.people["wim"].client == "acme"
    assert office.matters["acme-books"].members == ("ana", "bo")
    assert sorted(office.rooms) == [
        "room-department-books", "room-general", "room-matter-acme-books", "room-matter-birch-books",
    ]  # fmt: skip
    assert office.rooms["room-department-books"].members == ("ana", "bo"), "quality has one person and no channel"
    assert len(office.files) == 5 and len(office.demands) == 1 and len(office.entries) == 1
    assert office.entries["entry-stand-up"].start == 1_767_691_800, "Tue 6 January 2026, 09:30 in London"


def test_seed_documents_are_given_to_those_whose_space_it_is() -> None:
    office = opened(package_of(sample()))
    audiences = {
        office.files[file].path: sorted(office.grants[grant].audience for grant in office.by_file.get(file, ()))
        for file in office.files
    }
    assert audiences == {
        "Handbook.md": ["everyone"],
        "Opening balance.csv": ["matter:acme-books"],
        "Invoices.csv": ["matter:acme-books"],
        "Statement.csv": ["matter:acme-books"],
        "Journal.csv": [],
    }
    balance = office.files[seed_file_id("matter:acme-books", "Opening balance.csv")].versions[0]
    assert (balance.level, balance.walls) == ("confidential", ("acme-books",))
    handbook = office.files[seed_file_id("company", "Handbook.md")].versions[0]
    assert handbook.walls == ()


def test_ids_do_not_count_what_others_have_rule_8() -> None:
    package = package_of(sample())
    fewer = msgspec.structs.replace(package, materials=package.materials[:2])

    def ids(p: Package) -> set[str]:
        return {payload.file for _, payload in genesis(p, 1, Blobs()) if isinstance(payload, e.FileSaved)}

    assert ids(fewer) < ids(package)


def test_the_first_instant_is_local_midnight_of_the_start_date() -> None:
    package = package_of(sample())
    assert package.opens_at == 1_767_571_200
    tokyo = {**sample(), "organization.yaml": sample()["organization.yaml"].replace(b"Europe/London", b"Asia/Tokyo")}
    assert package_of(tokyo).opens_at == 1_767_571_200 - 9 * 3600
