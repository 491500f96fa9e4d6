"""Package folders: written whole, read back the same, tampering told, hostile folders refused."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from services.packages.folder import check_folder, read_folder, read_package, seal, write_package
from simulator.errors import PackageError, StorageError, UsageError
from simulator.package import MANIFEST, Package
from simulator.package_checks import check_files
from simulator.package_text import parse, render
from tests.packages.samples import sample


@pytest.fixture
def package() -> Package:
    found, faults = check_files(sample())
    assert found is not None and not faults
    return found


@pytest.fixture
def folder(package: Package, tmp_path: Path) -> Path:
    target = tmp_path / "sample"
    write_package(package, target)
    return target


def faults_in(folder: Path) -> list[str]:
    return [str(fault) for fault in check_folder(folder)[1]]


def test_what_was_written_is_read_back_the_same(package: Package, folder: Path) -> None:
    again = read_package(folder)
    assert again == package
    assert again.digest == package.digest
    assert json.loads((folder / MANIFEST).read_text())["files"] == package.manifest
    assert os.access(folder / "skills/digest/scripts/digest.py", os.X_OK)


def test_settings_survive_a_round_through_their_text(package: Package) -> None:
    texts = render(package.organization, package.people, package.rhythms, package.demands, package.materials)
    again, faults = parse({**package.files, **texts})
    assert not faults and again is not None
    assert again.organization == package.organization
    assert (again.people, again.rhythms, again.demands) == (package.people, package.rhythms, package.demands)
    assert again.materials == package.materials


def test_an_existing_folder_is_never_written_over(package: Package, folder: Path) -> None:
    before = sorted(path.as_posix() for path in folder.rglob("*"))
    with pytest.raises(UsageError, match="already exists"):
        write_package(package, folder)
    assert sorted(path.as_posix() for path in folder.rglob("*")) == before
    empty = folder.parent / "empty"
    empty.mkdir()
    write_package(package, empty)
    assert read_package(empty) == package


def test_a_disk_that_refuses_leaves_nothing_behind(package: Package, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match="could not be written"):
        write_package(package, tmp_path / "file" / "sample")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_changed_a_new_and_a_missing_file_are_each_told(folder: Path) -> None:
    (folder / "materials/handbook.md").write_text("# Other\n")
    (folder / "materials/balance.csv").unlink()
    (folder / "skills/digest/extra.md").write_text("x")
    told = faults_in(folder)
    assert any(t.startswith("materials/handbook.md: The file was changed since") for t in told)
    assert any(t.startswith("skills/digest/extra.md: The file is not in the manifest") for t in told)
    line = next(n for n, t in enumerate((folder / MANIFEST).read_text().splitlines(), 1) if "balance.csv" in t)
    assert any(t.startswith(f"manifest.json:{line}: The file `materials/balance.csv` is in the manifest") for t in told)
    with pytest.raises(PackageError) as refused:
        read_package(folder)
    assert set(refused.value.faults) == set(told) and refused.value.exit_code == 2


def test_seal_accepts_edits_and_only_sound_ones(folder: Path) -> None:
    (folder / "materials/handbook.md").write_text("# Better\n")
    sealed = seal(folder)
    assert read_package(folder) == sealed
    manifest = (folder / MANIFEST).read_bytes()
    card = folder / "people/bo.yaml"
    card.write_text(card.read_text().replace("manager: ana", "manager: zed"))
    with pytest.raises(PackageError, match="people/bo.yaml:6: The manager `zed` does not exist"):
        seal(folder)
    assert (folder / MANIFEST).read_bytes() == manifest
    assert not [path for path in folder.iterdir() if path.name.startswith(".manifest")]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 99, "files": {}}', '{"format": 1, "files": 3}', "\ufffd\xff"]
)
def test_a_manifest_that_is_none(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    assert [told for told in faults_in(folder) if "not one of format 1" in told]
    (folder / MANIFEST).unlink()
    assert any("The manifest is missing" in told for told in faults_in(folder))


def test_links_pipes_and_sockets_are_refused_and_never_followed(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.md").write_text("hidden")
    (folder / "materials/linked.md").symlink_to(secret / "key.md")
    (folder / "materials/dangling.md").symlink_to("/nowhere/at/all")
    (folder / "materials/away").symlink_to(secret, target_is_directory=True)
    os.mkfifo(folder / "materials/pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        # A socket's path is limited to about 100 bytes, so it is bound by a relative name.
        here = Path.cwd()
        os.chdir(folder)
        try:
            listener.bind("sock")
        finally:
            os.chdir(here)
        files, faults = read_folder(folder)
    assert not any(b"hidden" in data for data in files.values())
    told = {fault.file: fault.text for fault in faults}
    assert set(told) == {
        "materials/linked.md", "materials/dangling.md", "materials/away", "materials/pipe.md", "sock",
    }  # fmt: skip
    assert all("link" in told[f"materials/{name}"] for name in ("linked.md", "dangling.md", "away"))


def test_a_name_that_is_no_text_is_told_in_a_printable_way(folder: Path) -> None:
    (Path(os.fsdecode(os.fsencode(folder) + b"/materials/\xff.md"))).write_bytes(b"x")
    told = faults_in(folder)
    assert any("no text" in line for line in told)
    assert all(line.encode("utf-8") for line in told)


def test_a_path_with_dots_in_the_manifest_leads_nowhere(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"]["../outside.md"] = "0" * 64
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert any("`../outside.md` is in the manifest but not in the folder" in told for told in faults_in(folder))


def test_sizes_and_depth_are_bounded(folder: Path) -> None:
    with (folder / "materials/huge.bin").open("wb") as stream:
        stream.truncate(30_000_000)
    deep = folder.joinpath("materials", *"abcdefghijklmnop")
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("x")
    told = faults_in(folder)
    assert any(line.startswith("materials/huge.bin: The file has 30000000 bytes") for line in told)
    assert any("deep" in line for line in told)
    files, faults = read_folder(folder, limit=10)
    assert len(files) == 1 and "more than" in faults[-1].text


def test_what_running_a_script_leaves_behind_is_no_part_of_a_package(folder: Path, package: Package) -> None:
    cache = folder / "skills/digest/scripts/__pycache__"
    cache.mkdir()
    (cache / "digest.cpython-311.pyc").write_bytes(b"x")
    assert read_package(folder) == package


def test_no_folder_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        read_package(tmp_path / "nowhere")
    with pytest.raises(PackageError, match="organization.yaml: The file is missing"):
        read_package(tmp_path)
