"""The commands that make tasks and score them: freeze, audit, eval, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench import api
from bench.freeze import SnapshotInfo
from bench.select import Selection
from bench.trials import Trial
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.provenance import provenance
from services.sandbox.toolchain import find as find_toolchain
from services.storage.reader import JournalReader
from simulator.conversation import Role
from simulator.engine.environment import Bodies
from simulator.errors import UnknownReference, UsageError, WorkFailed
from simulator.ports import Model

NEEDS_MODEL = ("builtin",)
ROLE: Role = "assistant"
"""Whose model an agent on a snapshot asks."""


def freeze(house: House, out: Out, reference: str, dest: Path, delegation: str, count: int) -> list[SnapshotInfo]:
    """Freeze one round of a delegation, or a diverse selection that passed audit and calibration."""
    if bool(delegation) == bool(count):
        raise UsageError("Say what to freeze: --delegation ID[.ROUND] or --select N.")
    row = house.row(reference)
    reader = house.offices.read(row.id)
    bodies, models = Bodies(reader), _models(house, reader)
    if delegation:
        info = api.freeze_one(reader, house.blobs, bodies, row.id, delegation, dest, models=models, progress=out.say)
        made: tuple[SnapshotInfo, ...] = (info,)
    else:
        found = api.select_and_freeze(reader, house.blobs, bodies, row.id, count, dest, models=models, progress=out.say)
        made = found.snapshots
        _passed_over(out, found)
    rows = [
        [i.folder, i.work, f"{i.period}, round {i.round}", i.principal, str(i.depth), f"{i.required} of {i.criteria}"]
        for i in made
    ]
    out.table("Snapshots", ["folder", "work", "of", "principal", "depth", "required criteria"], rows)
    out.result({"snapshots": [str(i.folder) for i in made]})
    if count and len(made) < count:
        raise WorkFailed(f"{len(made)} of {count} snapshots were made: no more rounds are fit. The reasons are above.")
    return list(made)


def _models(house: House, reader: JournalReader) -> dict[str, str]:
    """Return the models that the office was run with; those now set up where its record does not say."""
    runs = provenance(reader)
    return msgspec.convert(runs[-1]["models"], dict[str, str]) if runs else house.model_names()


def _passed_over(out: Out, found: Selection) -> None:
    """Say why rounds were passed over; those that only came too late are counted together."""
    reasons: dict[str, int] = {}
    for each in found.passed_over:
        why = "enough others had been chosen" if "were enough" in each.why else each.why
        reasons[why] = reasons.get(why, 0) + 1
    for why, number in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])):
        out.say(f"Passed over {number}: {why.rstrip('.')}.")


def audit(house: House, out: Out, places: Sequence[Path]) -> None:
    """Audit snapshots, each with its office where that is still here; findings end with exit code 1."""
    findings = []
    for folder in api.snapshot_folders(places):
        manifest = api.manifest_of(folder)
        try:
            row = house.row(manifest.office)
        except UnknownReference:
            out.say(f"{folder.name}: its office {manifest.office} is not here, so only the folder itself is audited.")
            found = api.audit_snapshot(folder)
        else:
            reader = house.offices.read(row.id)
            found = api.audit_snapshot(folder, reader, house.blobs, Bodies(reader))
        for leak in found:
            out.say(f"{folder.name}: {leak}")
            findings.append({"snapshot": str(folder), "kind": leak.kind, "path": leak.path, "text": leak.text})
        if not found:
            out.say(f"{folder.name}: nothing found.")
    out.result({"findings": findings})
    if findings:
        raise WorkFailed(f"The audit found {len(findings)} faults: these snapshots must not be used as they are.")


def evaluate(
    house: House, out: Out, place: Path, agent: str, model: str, turns: str, attempts: int, results: Path | None,
    check: bool = True,
) -> list[Trial]:  # fmt: skip
    """Let an agent work on snapshots and score what it leaves; trials that are there already are not run again.

    With `check`, the endpoint of an agent's model is asked one tiny question before anything starts.
    """
    budgets = _numbers(turns)
    api.snapshot_folders([place])
    chosen, name = _model(house, out, model, check) if agent in NEEDS_MODEL else (None, "")

    def tell(trial: Trial) -> None:
        marks = trial.marks
        score = f"weighted {marks.weighted:.3f}" if marks else trial.note
        out.say(f"{trial.snapshot}  {trial.agent}  attempt {trial.attempt}: {trial.outcome}, {score}")

    trials = api.evaluate_snapshots(
        [place], agent, provider=house.sandboxes(), blobs=house.blobs, grader_python=find_toolchain().path / "bin" / "python3",
        results=results or house.settings.home / "results", model=chosen, model_name=name, attempts=attempts, turns=budgets,
        progress=tell,
    )  # fmt: skip
    out.result({"trials": [trial.row() for trial in trials]})
    broken = [t for t in trials if t.outcome in ("error", "infra_error", "invalid")]
    if broken:
        raise WorkFailed(
            f"{len(broken)} of {len(trials)} trials gave no score ({broken[0].outcome}: {broken[0].note})."
        )
    return trials


def _model(house: House, out: Out, asked: str, check: bool) -> tuple[Model, str]:
    """Return the model that works on snapshots, and its name: the assistants', or the offline professional."""
    if asked == "offline":
        chosen, name = house.offline(), asked
    elif asked and asked != house.model_name(ROLE):
        raise UsageError(
            f"The model {asked} is not set up: name its endpoint by OFFICETOWN_MODEL_URL and OFFICETOWN_MODEL."
        )
    else:
        if check:
            house.check((ROLE,), say=out.say)
        chosen, name = house.connect(say=out.say, roles=(ROLE,)).model, house.model_name(ROLE)
    if name == "offline":
        out.say(
            "The offline professional is not a model: it follows the skill packs. Its scores say nothing of any model."
        )
    return chosen, name


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--turns {text}: write whole numbers with commas, such as 8,16,24.") from None


def report(out: Out, results: Path) -> None:
    """Show a results folder as a table."""
    out.say(api.report_table(results))
    out.result({"results": [msgspec.to_builtins(line) for line in api.report_lines(results)]})
