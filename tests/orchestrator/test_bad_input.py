"""Bad input gets a clear error and the exit code of DESIGN 13, and nothing is lost."""

from __future__ import annotations

import shutil
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from services.offline import OfflineProfessional
from services.sandbox.bubblewrap import Bubblewrap
from services.storage.blobs import FileBlobs
from services.storage.faults import Fault, armed, counting
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import SandboxUnavailable
from tests.orchestrator.support import JUNIPER, Desk, child, start


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of Juniper to spoil."""
    shutil.copytree(JUNIPER, tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "package"


def offices(desk: Desk) -> list[dict[str, object]]:
    """The offices there are."""
    listed = desk.json("offices")["offices"]
    assert isinstance(listed, list)
    return listed


# -- briefs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("brief", ["", "   \n", "law firm " * 1112])
def test_an_empty_or_endless_brief_is_refused_and_makes_nothing(desk: Desk, tmp_path: Path, brief: str) -> None:
    said = desk("new", brief, "-o", tmp_path / "package")
    assert said.code == 2
    assert "brief" in said.err
    assert not (tmp_path / "package").exists()


def test_a_folder_that_is_taken_is_refused_before_a_model_is_asked(desk: Desk, package: Path) -> None:
    said = desk("new", "A five-person law firm", "-o", package)
    assert said.code == 2 and "not an empty folder" in said.err


# -- packages ---------------------------------------------------------------------------------------------------------


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def _cycle(folder: Path) -> None:
    _replace(folder / "people" / "margaret.yaml", "\n", "\nmanager: elena\n")


def _code(folder: Path) -> None:
    _replace(folder / "people" / "elena.yaml", "code: 11-3031.01", "code: 99-9999.99")


def _ledger(folder: Path) -> None:
    path = folder / "materials" / "firm" / "trial-balance.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join([lines[0], lines[1].replace(lines[1].rstrip("\n").rsplit(",", 1)[1] or "0", "123.45"), *lines[2:]])
    )


def _dots(folder: Path) -> None:
    path = folder / "materials" / "materials.yaml"
    first = next(line for line in path.read_text().splitlines() if "source:" in line or "file:" in line)
    key, _, _ = first.partition(":")
    _replace(path, first, f"{key}: ../../secret.csv")


def _link(folder: Path) -> None:
    (folder / "materials" / "company" / "handbook.md").unlink()
    (folder / "materials" / "company" / "handbook.md").symlink_to("/etc/hostname")


def _changed(folder: Path) -> None:
    path = folder / "materials" / "company" / "handbook.md"
    path.write_text(f"{path.read_text()}\nOne more rule.\n")


SPOILT: dict[str, tuple[Callable[[Path], None], str]] = {
    "a cycle": (_cycle, "report"),
    "an unknown code": (_code, "99-9999.99"),
    "an unbalanced ledger": (_ledger, "trial-balance.csv"),
    "a path with ..": (_dots, ".."),
    "a link": (_link, "handbook.md"),
    "a changed file": (_changed, "handbook.md"),
}


@pytest.mark.parametrize("what", SPOILT)
def test_a_spoilt_package_is_explained_with_its_file_and_neither_checked_nor_run(
    desk: Desk, package: Path, what: str
) -> None:
    spoil, named = SPOILT[what]
    spoil(package)
    checked = desk("check", package)
    assert checked.code == 2
    assert named in checked.out
    ran = desk("run", package, "--days", "1")
    assert ran.code == 2
    assert named in ran.err
    assert offices(desk) == []


@pytest.mark.parametrize("what", ["a cycle", "an unknown code", "an unbalanced ledger", "a path with ..", "a link"])
def test_seal_accepts_no_fault_but_a_changed_file(desk: Desk, package: Path, what: str) -> None:
    before = (package / "manifest.json").read_bytes()
    SPOILT[what][0](package)
    assert desk("check", package, "--seal").code == 2
    assert (package / "manifest.json").read_bytes() == before


def test_check_tells_the_line_of_a_fault(desk: Desk, package: Path) -> None:
    _code(package)
    assert any(line.split(":")[1].isdigit() for line in desk("check", package).out.splitlines() if "99-9999.99" in line)


def test_a_folder_that_is_no_package_is_said_to_be_none(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "stuff").mkdir()
    ran = desk("run", tmp_path / "stuff")
    assert ran.code == 2 and "organization.yaml" in ran.err
    assert desk("check", tmp_path / "stuff").code == 2
    assert desk("check", tmp_path / "nowhere").code == 2


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ("show", "nope"), ("log", "nope"), ("run", "nope"), ("why", "nope", "x"), ("who-can", "nope", "x"), ("replay", "nope"),
        ("files", "nope", "--as", "elena"), ("fork", "nope", "--at", "5"), ("pack", "nope", "-o", "x.zip"), ("costs", "nope"),
        ("offices", "rm", "nope"),
    ],
)  # fmt: skip
def test_an_unknown_office_is_named_with_those_there_are(worked: Desk, command: tuple[str, ...]) -> None:
    said = worked(*command)
    assert said.code == 2
    assert "'nope'" in said.err and "(Juniper)" in said.err
    assert not Path("x.zip").exists()


def test_an_unknown_person_file_delegation_or_moment_is_named(worked: Desk) -> None:
    said = worked("files", "Juniper", "--as", "zoe")
    assert said.code == 2 and "'zoe'" in said.err and "elena" in said.err
    said = worked("who-can", "Juniper", "nothing.xlsx")
    assert said.code == 2 and "nothing.xlsx" in said.err
    said = worked("who-can", "Juniper", "Handbook.md@7")
    assert said.code == 2 and "had 1 versions" in said.err
    said = worked("why", "Juniper", "elena.99.1")
    assert said.code == 2 and "elena.99.1" in said.err
    for moment in ("yesterday", "2026-13-01", "0", "999999", "2020-01-01"):
        assert worked("who-can", "Juniper", "Handbook.md", "--on", moment).code == 2


def test_a_name_that_fits_several_files_lists_them(worked: Desk) -> None:
    said = worked("who-can", "Juniper", "bank.csv")
    assert said.code == 2
    assert "matter:riverbend-close/Inputs/2025-12/bank.csv" in said.err


@pytest.mark.parametrize(
    "options",
    [
        ("--days", "0"), ("--days", "999999999"), ("--concurrency", "0"), ("--workers", "-1"), ("--speed", "121"), ("--speed", "fast"),
        ("--budget", "nan"), ("--budget", "-1"), ("--budget", "much"), ("--sandbox", "none"), ("--assistant", "codex"),
        ("--seed", "one"), ("--seed", "99999999999999999999"), ("--nonsense",),
    ],
)  # fmt: skip
def test_a_wrong_option_is_exit_2_and_leaves_no_office(desk: Desk, options: tuple[str, ...]) -> None:
    said = desk("run", JUNIPER, *options)
    assert said.code == 2, said.err
    assert said.err
    assert offices(desk) == []


def test_an_office_keeps_its_seed_and_its_name(copied: Desk) -> None:
    assert copied("run", "Juniper", "--days", "3", "--seed", "2").code == 2
    assert copied("run", "Juniper", "--days", "3", "--name", "Other").code == 2
    assert copied("run", "Juniper", "--days", "3", "--seed", "1", "--name", "Juniper").code == 0


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"OFFICETOWN_MODEL_URL": "http://127.0.0.1:1/v1"}, "OFFICETOWN_MODEL "),
        ({"OFFICETOWN_MODEL_URL": "localhost:1", "OFFICETOWN_MODEL": "m"}, "OFFICETOWN_MODEL_URL"),
        ({"OFFICETOWN_MODEL_WIRE": "carrier pigeon"}, "OFFICETOWN_MODEL_WIRE"),
        ({"OFFICETOWN_MODEL_PRICE_INPUT": "1"}, "OFFICETOWN_MODEL_PRICE_OUTPUT"),
        ({"OFFICETOWN_MODEL_PRICE_INPUT": "x", "OFFICETOWN_MODEL_PRICE_OUTPUT": "1"}, "OFFICETOWN_MODEL_PRICE_INPUT"),
        ({"DATABASE_URL": "mysql://somewhere/else"}, "DATABASE_URL"),
        ({"DATABASE_URL": "not an address"}, "DATABASE_URL"),
    ],
)
def test_a_wrong_variable_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], variables: dict[str, str], named: str
) -> None:
    said = Desk(tmp_path / "home", capsys, variables)("offices")
    assert said.code == 2
    assert named in said.err


# -- the machine ------------------------------------------------------------------------------------------------------


def test_a_second_process_on_a_running_office_is_refused_and_reading_it_works(copied: Desk) -> None:
    """RULE 24: the lease."""
    house = copied.house()
    row = house.row("Juniper")
    journal = house.offices.open(row.id)
    try:
        for command in (("run", "Juniper", "--days", "4"), ("offices", "rm", "Juniper")):
            said = child(copied.home, *command)
            assert said.code == 4
            assert "in use by another process" in said.err
        assert child(copied.home, "log", "Juniper", "--hash").code == 0
    finally:
        journal.close()
        house.close()
    assert copied("run", "Juniper", "--days", "3").code == 0


class NoNamespaces(Bubblewrap):
    """A machine without user namespaces."""

    def check(self) -> None:
        """Refuse."""
        raise SandboxUnavailable(
            "bubblewrap cannot start a sandbox on this machine. Allow unprivileged user namespaces."
        )


def test_a_machine_without_user_namespaces_says_what_to_do_and_leaves_no_office(desk: Desk, tmp_path: Path) -> None:
    said = desk("run", JUNIPER, make=lambda: desk.house(sandboxes=NoNamespaces(FileBlobs(tmp_path))))
    assert said.code == 4
    assert "Allow unprivileged user namespaces" in said.err
    assert offices(desk) == []
    said = desk("doctor", make=lambda: desk.house(sandboxes=NoNamespaces(FileBlobs(tmp_path))))
    assert said.code == 4 and "Allow unprivileged user namespaces" in said.out


@pytest.mark.parametrize(
    ("point", "tenths"), [("blobs.write", 5), ("journal.before_commit", 3), ("journal.begin", 8)]
)
def test_a_full_disk_stops_the_run_at_a_commit_and_the_next_run_ends_as_if_nothing_had_happened(
    copied: Desk, tmp_path: Path, point: str, tenths: int
) -> None:
    """The disk is full after so many tenths of what a twin's run, which is counted, writes there."""
    twin = Desk(tmp_path / "twin", copied.capture)
    shutil.copytree(copied.home, twin.home)
    with counting() as passed:
        whole = twin.json("run", "Juniper", "--days", "4")
    assert passed[point] >= 10
    with armed(point, Fault.NO_SPACE, passed[point] * tenths // 10):
        said = copied("run", "Juniper", "--days", "4", "--json")
    assert said.code == 4
    assert "space" in said.err.lower()
    assert (said.result["office"], said.result["hash"] == whole["hash"]) == (whole["office"], False)
    assert f"officetown run {whole['office']} --days 4" in said.err
    assert copied.json("run", whole["office"], "--days", "4")["hash"] == whole["hash"]


def test_a_full_disk_while_an_office_is_made_leaves_none(desk: Desk) -> None:
    with armed("blobs.write", Fault.NO_SPACE, skip=3):
        said = desk("run", JUNIPER, "--days", "1")
    assert said.code == 4
    assert offices(desk) == []


def test_a_home_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    said = Desk(tmp_path / "file" / "home", capsys)("offices")
    assert said.code == 4
    assert "OFFICETOWN_HOME" in said.err


def test_a_database_that_is_down_is_named_without_its_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "postgresql://me:secret@127.0.0.1:1/offices?connect_timeout=1"
    desk = Desk(tmp_path / "home", capsys, {"DATABASE_URL": url})
    for command in (("offices",), ("run", JUNIPER), ("show", "x")):
        said = desk(*command)
        assert said.code == 4
        assert "127.0.0.1" in said.err and "server is up" in said.err
        assert "secret" not in said.err + said.out
    said = desk("doctor")
    assert said.code == 4 and "server is up" in said.out and "bubblewrap works" in said.out


# -- packs ------------------------------------------------------------------------------------------------------------


def test_a_pack_that_was_tampered_with_is_refused_and_leaves_no_office(
    worked: Desk, desk: Desk, tmp_path: Path
) -> None:
    packed = tmp_path / "juniper.pack"
    worked.json("pack", "Juniper", "-o", packed)
    with zipfile.ZipFile(packed) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["events"] = members["events"].replace(b"Elena Marsh", b"Elena Marxh", 1)
    tampered = tmp_path / "tampered.pack"
    with zipfile.ZipFile(tampered, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    said = desk("unpack", tampered)
    assert said.code == 1
    assert "events does not match its hash" in said.err
    (tmp_path / "cut.pack").write_bytes(packed.read_bytes()[:5000])
    assert desk("unpack", tmp_path / "cut.pack").code == 1
    assert desk("unpack", tmp_path / "nowhere.pack").code == 2
    assert offices(desk) == []


def test_a_reader_that_leaves_early_is_met_with_silence(worked: Desk) -> None:
    process = start(worked.home, "log", "Juniper")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) in (0, 1)
    assert process.stderr.read() == ""
    process.stderr.close()


class Cutting:
    """The offline professional; at its n-th call it does something to the world first."""

    def __init__(self, at: int, do: Callable[[], None]) -> None:
        self._model = OfflineProfessional()
        self._left = at
        self._do = do
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._do()
        return self._model.complete(request)


@pytest.mark.postgres
def test_a_database_that_goes_down_stops_the_run_and_when_it_is_back_the_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], postgres_url: str
) -> None:
    url = make_url(postgres_url)
    admin = url.set(drivername="postgresql", database="postgres").render_as_string(False)

    def connections(allowed: bool) -> None:
        with psycopg.connect(admin, autocommit=True) as session:
            session.execute(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS {allowed}')
            if not allowed:
                session.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [url.database]
                )

    desk = Desk(tmp_path / "home", capsys, {"DATABASE_URL": postgres_url})
    whole = desk.json("run", JUNIPER, "--days", "1", "--seed", "1", "--name", "Whole")["hash"]
    down = Cutting(25, lambda: connections(False))
    said = desk("run", JUNIPER, "--days", "1", "--seed", "1", "--name", "Part", make=lambda: desk.house(model=down))
    assert said.code == 4
    assert "server is up" in said.err
    assert desk("show", "Part").code == 4
    connections(True)
    assert desk.json("run", "Part", "--days", "1")["hash"] == whole
