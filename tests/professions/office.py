"""An office of one: runs the skill packs' scripts as an assistant would, month after month, and renders the results."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import openpyxl

from services.documents.renderer import DocumentRenderer
from services.professions.base import XLSX, Profession
from services.professions.faults import Fault
from services.professions.registry import PROFESSIONS
from services.professions.rendered import view_of
from services.professions.review import review
from services.professions.views import PriorView, view_from_csv, view_from_workbook

SKILLS = Path(__file__).resolve().parents[2] / "fixtures" / "skills"


def script_of(kind: str) -> Path:
    """The one script of a skill pack that is not the shared library."""
    found = [path for path in sorted((SKILLS / kind / "scripts").glob("*.py")) if not path.name.startswith("office")]
    assert len(found) == 1, f"{kind}: expected one script, found {[path.name for path in found]}"
    return found[0]


@dataclass
class Work:
    """One period's finished work of one kind."""

    profession: Profession
    period: str
    inputs: dict[str, str]
    folder: Path
    stated: dict[str, str]
    prior: Work | None = None
    others: dict[str, Work] = field(default_factory=dict)

    @property
    def main(self) -> Path:
        return self.folder / self.profession.main.name

    @property
    def files(self) -> dict[str, bytes]:
        names = [each.name for each in self.profession.deliverables]
        return {name: (self.folder / name).read_bytes() for name in names if (self.folder / name).exists()}

    def rendered(self) -> dict[str, str]:
        return {name: render(self.profession, name, data) for name, data in self.files.items()}

    def view_from_bytes(self) -> PriorView:
        """As the bench reads it: the bytes through openpyxl."""
        return view_from_bytes(self.profession, self.main.read_bytes())

    def view_from_text(self) -> PriorView:
        """As the offline reviewer reads it: the rendered text."""
        return view_of(self.profession.main, self.rendered()[self.profession.main.name])


def view_from_bytes(profession: Profession, data: bytes) -> PriorView:
    if profession.main.media_type != XLSX:
        return view_from_csv(data.decode())
    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    return view_from_workbook({sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets})


def render(profession: Profession, name: str, data: bytes) -> str:
    media_type = next(each.media_type for each in profession.deliverables if each.name == name)
    return DocumentRenderer().render(data, media_type, name)


def faults_of(made: Work, files: Mapping[str, bytes] | None = None) -> list[Fault]:
    """What the reviewer finds in a work, or in other files handed in for it."""
    texts = {
        name: render(made.profession, name, data) for name, data in (made.files if files is None else files).items()
    }
    prior = made.prior.view_from_text() if made.prior is not None else None
    others = {name: other.view_from_text() for name, other in made.others.items()}
    return review(made.profession, made.period, made.inputs, prior, others, texts)


def work(
    kind: str,
    inputs: Mapping[str, str],
    period: str,
    folder: Path,
    prior: Work | None = None,
    others: Mapping[str, Work] | None = None,
    *options: str,
) -> Work:
    """Run a kind's script on the inputs {input name: text}; fails the test when the script fails."""
    profession = PROFESSIONS[kind]
    sent = folder / "Inputs"
    sent.mkdir(parents=True)
    out = folder / "out"
    call = [sys.executable, "-B", str(script_of(kind)), "--out", str(out), "--period", period]
    for spec in profession.inputs:
        if spec.name in inputs:
            (sent / spec.file).write_text(inputs[spec.name], newline="")
            call += ["--input", f"{spec.name}={sent / spec.file}"]
    if prior is not None:
        call += ["--prior", str(prior.main)]
    for name, other in (others or {}).items():
        call += ["--from", f"{name}={other.main}"]
    done = subprocess.run([*call, *options], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert done.returncode == 0, f"{kind} {period}: {done.stderr}"
    stated = json.loads(done.stdout)["figures"]
    return Work(profession, period, dict(inputs), out, stated, prior, dict(others or {}))


def months(client: str, seed: int, periods: list[str], folder: Path, kinds: list[str] | None = None) -> list[Work]:
    """Work through a client's periods, each on what came before; finance kinds on one another."""
    done: dict[tuple[str, str], Work] = {}
    last: dict[str, Work] = {}
    for period in periods:
        for kind, profession in PROFESSIONS.items():
            if kinds is not None and kind not in kinds:
                continue
            inputs = profession.by_name(profession.materials(client, period, seed))
            others = {
                other.name: done[other.kind, period] for other in profession.others if (other.kind, period) in done
            }
            made = work(kind, inputs, period, folder / kind / period, last.get(kind), others)
            done[kind, period] = last[kind] = made
    return list(done.values())
