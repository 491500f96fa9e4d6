"""Frozen rounds with systems of record: what is there, as of when, for whom, and the command with which an agent calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench import api
from bench.audit import audit, audit_alone
from bench.freeze import freeze
from bench.snapshot import Snapshot, Visible, open_snapshot, write_snapshot
from bench.worlds import desk
from bench.worlds.carried import CARRIED, COMMAND
from services.models.scripted import Scripted, call
from services.sandbox.bubblewrap import Bubblewrap
from services.sandbox.toolchain import find
from services.storage.memory import MemoryBlobs, MemoryJournal
from simulator.businesstime import calendar_for
from simulator.canonical import sha256
from simulator.events import SystemAdded, SystemCalled
from simulator.records import SystemOfRecord
from tests.access.world import body
from tests.bench.office import MATTER, NOW, TEAM, Firm, firm, month_of, text_of
from tests.systems.bank import PORTAL

ROOT = "environment/mounts/services/systems"


@dataclass(frozen=True)
class Frozen:
    world: Firm
    log: MemoryJournal
    delegation: str
    snapshot: Snapshot


def add(world: Firm, name: str, *audience: str) -> None:
    definition, state = world.blobs.put(PORTAL.definition), world.blobs.put(PORTAL.state)
    world.do(SystemAdded(SystemOfRecord(name, PORTAL.title, audience, definition, state)))


def day_of(world: Firm) -> str:
    return calendar_for(world.office.calendar).day(world.now)


def pay(world: Firm, delegation: str, system: str, invoice: str) -> None:
    """Let an assistant's call land."""
    arguments = json.dumps({"account": "AC-10", "invoice": invoice})
    state = world.blobs.get(world.office.systems[system].state.sha256)
    told = desk.answer(PORTAL.definition, state, "prepare_payment", arguments, day_of(world))
    assert told.ok
    world.do(
        SystemCalled(world.id("daniel"), system, delegation, "prepare_payment", body(arguments), body(told.observation),
                     world.blobs.put(told.state)),
        f"assistant:{delegation}",
    )  # fmt: skip


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Frozen:
    """Daniel's reconciliation on Riverbend: one payment lies before the moment, one after it."""
    folder = tmp_path_factory.mktemp("systems")
    world = firm()
    for name, audience in (("bank", TEAM), ("desk", "department:assurance"), ("oakbank", "matter:oak"), ("vault", "person:elena")):
        add(world, name, audience)
    made = month_of("bank-reconciliation", NOW, folder / "script", 12)
    inputs = world.materials(made)
    earlier = world.delegate("daniel", "Pay.", MATTER)
    pay(world, earlier, "bank", "IN-301")
    done = world.hand_out(made, inputs)
    pay(world, done, "bank", "IN-302")
    world.review(done, "accept", "Ties.", world.hand_in(done, made.files))
    log = world.log()
    info = freeze(log, world.blobs, text_of, "firm", done, 1, folder / "tasks")
    return Frozen(world, log, done, open_snapshot(Path(info.folder)))


def leaks(frozen: Frozen, snapshot: Snapshot) -> list[str]:
    return [str(leak) for leak in audit(snapshot, frozen.log, frozen.world.blobs, text_of)]


def test_a_snapshot_holds_the_systems_of_its_assistant_as_of_the_moment(frozen: Frozen) -> None:
    paths = {p.path for p in frozen.snapshot.manifest.files if p.path.startswith(ROOT)}
    systems = {p.removeprefix(f"{ROOT}/").split("/")[0] for p in paths if p.endswith("definition.json")}
    assert systems == {"bank", "desk"}, "not Oakridge's, nor Elena's own"
    assert {f"{ROOT}/_desk/{name}" for name in CARRIED} <= paths
    held = json.loads(frozen.snapshot.read(f"{ROOT}/bank/state.json"))
    assert held["day"] == frozen.snapshot.manifest.moment[:10]
    assert held["state"]["invoices"]["IN-301"]["payment"] == "PM-002", "what was before"
    assert held["state"]["invoices"]["IN-302"]["payment"] is None, "nothing of later"
    assert b"AC-10" not in frozen.snapshot.read(f"{ROOT}/bank/definition.json")
    whys = {v.path: v.why for v in frozen.snapshot.manifest.visible}
    assert whys["/mnt/services/systems/bank/state.json"] == f"a system of record for {TEAM}"
    assert COMMAND in frozen.snapshot.read("instruction.md").decode()


def test_it_is_audited_clean_and_freezes_to_the_same_bytes(frozen: Frozen, tmp_path: Path) -> None:
    assert audit_alone(frozen.snapshot) == [] and leaks(frozen, frozen.snapshot) == []
    again = freeze(frozen.log, frozen.world.blobs, text_of, "firm", frozen.delegation, 1, tmp_path)
    assert again.hash == frozen.snapshot.manifest.hash


def altered(frozen: Frozen, dest: Path, changes: dict[str, bytes | None]) -> Snapshot:
    """Return a copy with files replaced, added or taken out, sealed anew."""
    files = {f.path: (frozen.snapshot.read(f.path), f.mode) for f in frozen.snapshot.manifest.files}
    for path, data in changes.items():
        if data is None:
            del files[path]
        else:
            files[path] = (data, 0o644)
    known = {v.path: v for v in frozen.snapshot.manifest.visible}
    shown = {f"/mnt/services/{path.removeprefix('environment/mounts/services/')}": data for path, data in changes.items()}
    known |= {path: Visible(path, sha256(data), "", "so it is said") for path, data in shown.items() if data is not None}
    visible = tuple(v for path, v in known.items() if shown.get(path, b"") is not None)
    bare = msgspec.structs.replace(frozen.snapshot.manifest, files=(), visible=visible)
    write_snapshot(dest / bare.id, files, bare)
    return open_snapshot(dest / bare.id)


def test_a_later_state_a_foreign_system_and_a_missing_one_are_leaks(frozen: Frozen, tmp_path: Path) -> None:
    later = frozen.world.blobs.get(frozen.world.office.systems["bank"].state.sha256)
    state = desk.encode({"day": frozen.snapshot.manifest.moment[:10], "state": json.loads(later)})
    assert any("bank/state.json" in leak for leak in leaks(frozen, altered(frozen, tmp_path / "1", {f"{ROOT}/bank/state.json": state})))
    foreign = {f"{ROOT}/oakbank/definition.json": PORTAL.definition, f"{ROOT}/oakbank/state.json": state}
    found = leaks(frozen, altered(frozen, tmp_path / "2", dict(foreign)))
    assert any("oakbank" in leak and "could not use it at that moment" in leak for leak in found)
    gone = {f"{ROOT}/desk/definition.json": None, f"{ROOT}/desk/state.json": None}
    assert any("desk" in leak and "is missing" in leak for leak in leaks(frozen, altered(frozen, tmp_path / "3", dict(gone))))


def test_a_round_without_systems_carries_nothing_of_them(tmp_path: Path) -> None:
    world = firm()
    made = month_of("release-triage", NOW, tmp_path / "script", 12)
    done = world.hand_out(made, world.materials(made))
    add(world, "bank", TEAM)
    world.review(done, "accept", "Good.", world.hand_in(done, made.files))
    info = freeze(world.log(), world.blobs, text_of, "firm", done, 1, tmp_path / "tasks")
    snapshot = open_snapshot(Path(info.folder))
    names = {p.path.rpartition("/")[2] for p in snapshot.manifest.files if p.path.startswith("environment/mounts/services/")}
    assert names == {"calendar.json", "chat.json", "git.json", "mail.json", "meetings.json", "notices.json"}
    assert COMMAND not in snapshot.read("instruction.md").decode(), "the system came after the moment"


# -- the command ----------------------------------------------------------------------------------------------------------


class Shell:
    """Runs the frozen command with nothing but the standard library, as an agent would."""

    def __init__(self, snapshot: Snapshot, kept: Path) -> None:
        self.command = snapshot.folder / ROOT / "system.py"
        self.kept = kept

    def __call__(self, *words: str, given: str = "") -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(self.command), *words], input=given, capture_output=True, text=True, check=False,
            timeout=60, env={"OFFICETOWN_SYSTEMS": str(self.kept), "PATH": os.environ["PATH"]},
        )  # fmt: skip
        return done.returncode, (done.stdout or done.stderr).strip()


@pytest.fixture
def shell(frozen: Frozen, tmp_path: Path) -> Shell:
    return Shell(frozen.snapshot, tmp_path / "kept")


def test_an_agent_lists_systems_and_tools_and_calls_them(shell: Shell) -> None:
    assert shell() == (0, "bank: Payments in a bank portal\ndesk: Payments in a bank portal")
    code, tools = shell("bank")
    assert code == 0 and tools.startswith("get_account: Shows an account") and '"required":["account"]' in tools
    code, told = shell("bank", "prepare_payment", '{"account": "AC-10", "invoice": "IN-302"}')
    assert (code, json.loads(told)) == (0, {"payment": "PM-003", "status": "prepared"})
    code, told = shell("bank", "prepare_payment", "-", given='{"account": "AC-10", "invoice": "IN-302"}')
    assert (code, json.loads(told)["code"]) == (1, "paid"), "the state is kept from call to call"
    kept = json.loads((shell.kept / "bank.json").read_text())
    assert [(c["tool"], c["ok"]) for c in kept["calls"]] == [("prepare_payment", True), ("prepare_payment", False)]
    assert kept["state"]["invoices"]["IN-302"]["payment"] == "PM-003"
    assert not (shell.kept / "desk.json").exists() and list(shell.command.parent.rglob("__pycache__")) == []


def test_it_answers_as_the_office_does_and_goes_by_the_moments_day(frozen: Frozen, shell: Shell) -> None:
    held = json.loads(frozen.snapshot.read(f"{ROOT}/bank/state.json"))
    expected = desk.answer(PORTAL.definition, desk.encode(held["state"]), "get_account", '{"account": "AC-10"}', held["day"])
    assert shell("bank", "get_account", '{"account": "AC-10"}') == (0, expected.observation)
    assert json.loads(expected.observation)["used_today"] == 240_000


WRONG = (("vault",), ("../bank", "get_account"), ("bank", "get_account", "{}", "more"))


@pytest.mark.parametrize("words", WRONG, ids=range(len(WRONG)))
def test_a_call_of_what_is_not_there_is_told_what_is(shell: Shell, words: tuple[str, ...]) -> None:
    code, told = shell(*words)
    assert code == 2 and "the systems are: bank, desk" in told and not shell.kept.exists()


def test_what_was_kept_and_broken_is_told_and_never_believed(shell: Shell) -> None:
    shell.kept.mkdir()
    for broken in ("{", "[]", '{"calls": 3}', '{"calls": [], "state": NaN}'):
        (shell.kept / "bank.json").write_text(broken)
        code, told = shell("bank", "get_account", '{"account": "AC-10"}')
        assert code == 2 and "Remove it" in told and (shell.kept / "bank.json").read_text() == broken


# -- in the sandbox -------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine() -> Iterator[tuple[MemoryBlobs, Bubblewrap, Path]]:
    blobs, tools = MemoryBlobs(), find()
    provider = Bubblewrap(blobs, tools=tools)
    provider.check()
    yield blobs, provider, tools.path / "bin" / "python3"
    provider.close()


@pytest.mark.sandbox
def test_agents_of_an_evaluation_use_them(frozen: Frozen, machine: Any, tmp_path: Path) -> None:
    """The builtin agent is told of the command and its calls are answered; a command of one's own leaves its record."""
    blobs, provider, python = machine
    line = f"python3 {COMMAND} bank prepare_payment '{{\"account\": \"AC-10\", \"invoice\": \"IN-302\"}}'; cat ~/.systems/bank.json"
    model = Scripted([call("bash", command=line), call("submit", report="Prepared.")])
    settings: dict[str, Any] = {"provider": provider, "blobs": blobs, "grader_python": python}
    api.evaluate_snapshots([frozen.snapshot.folder], "builtin", results=tmp_path / "b", model=model, **settings)
    assert COMMAND in model.asked[0].messages[1].content
    said = model.asked[-1].messages[-1].content
    assert "PM-003" in said and json.loads(said)["exit_code"] == 0 and '\\"calls\\"' in said
    check = f"cmd:python3 {COMMAND} desk get_account '{{\"account\": \"AC-20\"}}' && test -s .systems/desk.json && test ! -w {COMMAND}"
    (trial,) = api.evaluate_snapshots([frozen.snapshot.folder], check, results=tmp_path / "c", **settings)
    assert trial.note.startswith("exit 0"), trial.note
