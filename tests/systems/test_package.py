"""Systems of record in a package: checked with file and line, sealed like the rest, and in the office's opening."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.worlds.systems import read_system
from services.packages.folder import check_folder, read_folder, read_package, seal
from services.storage.memory import MemoryBlobs
from simulator.errors import PackageError
from simulator.events import SystemAdded
from simulator.package import Package, genesis
from simulator.package_checks import check
from simulator.package_systems import read_systems
from tests.systems.packages import JUNIPER, copy_of_juniper, copy_of_system

ACCESS = "audience: [everyone]\nlevel: confidential\n"


@lru_cache(maxsize=1)
def juniper() -> Package:
    return read_package(JUNIPER)


def of_systems(folder: Path) -> list[str]:
    """Return the faults that Juniper has with the systems below a folder: its own parts are checked elsewhere."""
    files = {**juniper().files, **read_folder(folder)[0]}
    packs, found = read_systems(files, read_system)
    package = msgspec.structs.replace(juniper(), systems=packs, files=files)
    return [str(fault) for fault in (*found, *check(package, rules=["systems"]))]


def added(package: Package) -> list[SystemAdded]:
    return [p for _, p in genesis(package, 1, MemoryBlobs()) if isinstance(p, SystemAdded)]


def test_a_package_with_a_system_is_sealed_and_opens_an_office_with_it(tmp_path: Path) -> None:
    folder = copy_of_juniper(tmp_path, bank=("bank-portal", ACCESS))
    with pytest.raises(PackageError):
        read_package(folder, systems=read_system)
    seal(folder, systems=read_system)
    package = read_package(folder, systems=read_system)
    assert {"systems/bank/access.yaml", "systems/bank/environment.yaml"} <= set(package.manifest)
    blobs = MemoryBlobs()
    ((actor, event),) = [(a, p) for a, p in genesis(package, 1, blobs) if isinstance(p, SystemAdded)]
    system = event.system
    assert (actor, system.id, system.title, system.audience, system.level) == (
        "engine", "bank", "Payments in a bank portal", ("everyone",), "confidential",
    )  # fmt: skip
    assert json.loads(blobs.get(system.state.sha256))["accounts"]["AC-10"]["balance"] == 1_250_000
    kept = blobs.get(system.definition.sha256)
    assert b"instruction" not in kept and b"solution" not in kept and b"AC-10" not in kept, "no tasks and no state"


def test_a_changed_system_breaks_the_seal_and_makes_another_package(tmp_path: Path) -> None:
    folder = copy_of_juniper(tmp_path, bank=("bank-portal", ACCESS))
    first = seal(folder, systems=read_system).digest
    (folder / "systems/bank/access.yaml").write_text("audience: [person:dev]\n")
    assert any("changed since the package was sealed" in str(f) for f in check_folder(folder, systems=read_system)[1])
    assert seal(folder, systems=read_system).digest != first


def test_juniper_itself_has_no_system_and_its_opening_is_as_it_was() -> None:
    package = read_package(JUNIPER)
    assert package.systems == () and added(package) == []
    assert package.digest == read_package(JUNIPER, systems=read_system).digest


def test_where_nothing_reads_environments_a_package_with_one_is_refused_and_never_loses_it(tmp_path: Path) -> None:
    folder = copy_of_juniper(tmp_path, bank=("bank-portal", ACCESS))
    seal(folder, systems=read_system)
    with pytest.raises(PackageError) as caught:
        read_package(folder)
    assert "Nothing was given that reads environments" in str(caught.value.faults[0])


def access(text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / "access.yaml").write_text(text)


def environment(old: str, new: str) -> Callable[[Path], Any]:
    def change(folder: Path) -> None:
        text = (folder / "environment.yaml").read_text()
        assert old in text
        (folder / "environment.yaml").write_text(text.replace(old, new, 1))

    return change


WRONG: tuple[tuple[Callable[[Path], Any], str, str], ...] = (
    (access("audience: [everyone, department:nowhere]\n"), "systems/bank/access.yaml:1:", "does not exist"),
    (access("audience:\n  - everyone\n  - client:riverbend\n"), "systems/bank/access.yaml:3:", "does not exist"),
    (access("audience: []\n"), "systems/bank/access.yaml:1:", "Nobody may use"),
    (access("audience: [everyone]\nlevel: secret\n"), "systems/bank/access.yaml:2:", "not one of those allowed"),
    (access("audience: [everyone]\nowner: dev\n"), "systems/bank/access.yaml:2:", "not known here"),
    (access("level: public\n"), "systems/bank/access.yaml:1:", "`audience` is missing"),
    (lambda f: (f / "access.yaml").unlink(), "systems/bank/access.yaml:", "The file is missing"),
    (lambda f: (f / "environment.yaml").unlink(), "systems/bank/environment.yaml:", "The file is missing"),
    (lambda f: (f / "notes.txt").write_text("x"), "systems/bank/notes.txt:", "nothing else"),
    (environment("    effect:\n      let: {found: {$read: \"/accounts/{account}\"}}", "    depends_on: []\n    x:\n      let: {}"),
     "systems/bank/environment.yaml:", "not known here"),
    (environment("title: Payments in a bank portal\n", ""), "systems/bank/environment.yaml:1:", "needs a `title`"),
    (environment("{account: {type: string}}, required: [account]", "{account: {type: string, format: uuid}}, required: [account]"),
     "systems/bank/environment.yaml:54:", "which a system of record cannot check"),
    (environment("balance: 1250000", "balance: -5"), "systems/bank/environment.yaml:", "breaks the invariant `no-overdraft`"),
    (environment("name: prepare_payment", "name: prepare_payment_" + "y" * 50), "systems/bank/environment.yaml:", "is no name for a tool"),
    (lambda f: (f / "environment.yaml").write_bytes(b"\xff\xfe"), "systems/bank/environment.yaml:1:", "not UTF-8"),
    (lambda f: (f / "tasks.yaml").write_text("tasks: [{}]\n"), "systems/bank/tasks.yaml:1:", "missing"),
)  # fmt: skip


@pytest.mark.parametrize(("change", "where", "what"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_with_file_and_line(change: Callable[[Path], Any], where: str, what: str, tmp_path: Path) -> None:
    folder = copy_of_system(tmp_path, "bank", ("bank-portal", ACCESS))
    assert of_systems(tmp_path) == []
    change(folder)
    found = of_systems(tmp_path)
    assert any(fault.startswith(where) and what in fault for fault in found), found


def test_a_tool_without_an_effect_is_no_system_of_record(tmp_path: Path) -> None:
    place = copy_of_system(tmp_path, "bank", ("bank-portal", ACCESS)) / "environment.yaml"
    text = place.read_text()
    place.write_text(text + "  - name: chat\n    description: Talk.\n    parameters: {type: object}\n    example_output: {}\n")
    (fault,) = of_systems(tmp_path)
    assert fault.startswith(f"systems/bank/environment.yaml:{len(text.splitlines()) + 1}:") and "declares no `effect`" in fault


def test_a_clients_matter_is_a_wall_and_is_named_alone(tmp_path: Path) -> None:
    matter = next(m.id for m in juniper().organization.matters if m.client)
    folder = copy_of_system(tmp_path, "bank", ("bank-portal", f"audience: ['matter:{matter}', everyone]\n"))
    assert any("is a wall" in fault for fault in of_systems(tmp_path))
    (folder / "access.yaml").write_text(f"audience: ['matter:{matter}']\n")
    assert of_systems(tmp_path) == []


def test_a_file_in_a_wrong_place_and_a_bad_id_are_told(tmp_path: Path) -> None:
    copy_of_system(tmp_path, "Bank_", ("bank-portal", ACCESS))
    (tmp_path / "systems/loose.yaml").write_text("x: 1\n")
    found = of_systems(tmp_path)
    assert any(f.startswith("systems/loose.yaml:") for f in found) and any("lower-case letters" in f for f in found)


def test_there_are_not_more_systems_than_an_assistant_can_be_offered(tmp_path: Path) -> None:
    for n in range(13):
        copy_of_system(tmp_path, f"s{n}", ("bank-portal", ACCESS))
    assert any("12 is the most" in fault for fault in of_systems(tmp_path))
