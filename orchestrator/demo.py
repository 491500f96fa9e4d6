"""`demo`: the whole story on embedded parts, small, ending with what to open and what to do next."""

from __future__ import annotations

import time
from pathlib import Path

from orchestrator import tasks
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from simulator.engine.history import walk
from simulator.errors import UsageError, WorkFailed
from simulator.events import WorkReviewed
from simulator.office import Office
from simulator.records import Body, FileRef

JUNIPER = Path(__file__).resolve().parents[1] / "fixtures" / "juniper"
SNAPSHOTS = 3


def demo(house: House, out: Out, days: int, seed: int) -> None:
    """Run Juniper for some days, freeze three tasks, and hold them to the right and the empty answer.

    Raises:
        WorkFailed: a snapshot does not score 1.0 for its solution and 0.0 for doing nothing.
    """
    if not JUNIPER.is_dir():
        raise UsageError(f"The example package is not at {JUNIPER}: run the demo from a checkout.")
    started = time.monotonic()
    place = house.settings.home / "demo" / time.strftime("%Y%m%d-%H%M%S")
    out.say("1. An accounting firm of twelve people opens and works. Nobody but the offline professional plays them:")
    out.say("   a deterministic stand-in that follows the firm's skill packs. It is not a language model.")
    result = run(house, Out(quiet=True) if out.quiet else _inner(out), str(JUNIPER), RunOptions("", days, seed))
    if house.stop.signal:
        return
    row = house.row(str(result["office"]))
    out.say("\n2. Tasks that its people delegated are frozen with the files and rights of their moment.")
    made = tasks.freeze(house, _inner(out), row.id, place / "tasks", "", SNAPSHOTS)
    out.say("\n3. Each task is scored: its solution must get 1.0, doing nothing 0.0.")
    scores = {}
    for agent in ("oracle", "nop"):
        trials = tasks.evaluate(house, _inner(out), place / "tasks", agent, "", "", 1, place / "results")
        scores[agent] = [trial.marks.weighted if trial.marks else -1.0 for trial in trials]
    _tell(house, out, place, str(row.id), Path(made[0].folder), time.monotonic() - started, days)
    out.result({"office": row.id, "snapshots": [str(i.folder) for i in made], "oracle": scores["oracle"],
                "nop": scores["nop"], "counts": result["counts"]})  # fmt: skip
    if set(scores["oracle"]) != {1.0} or set(scores["nop"]) != {0.0}:
        raise WorkFailed(f"The snapshots do not score as they must: oracle {scores['oracle']}, nop {scores['nop']}.")


def _inner(out: Out) -> Out:
    """Return an Out for a step: its words yes, its JSON object no (the demo ends with one of its own)."""
    inner = Out(json=False, quiet=out.quiet)
    inner.console = out.console
    return inner


def _tell(house: House, out: Out, place: Path, office_id: str, snapshot: Path, seconds: float, days: int) -> None:
    """Say what to open and what to do next."""
    reader = house.offices.read(office_id)
    note, accepted, office = None, None, Office()
    for event, state in walk(reader):
        office = state
        if isinstance(event.payload, WorkReviewed):
            review = event.payload.review
            if review.decision == "revise" and note is None:
                note = (event.payload.delegation, review.notes)
            books = [f for f in review.files if state.files[f.file].path.endswith(".xlsx")]
            if review.decision == "accept" and books:
                accepted = books[0]

    def text(body: Body) -> str:
        return reader.body(body.sha256) if body.sha256 else body.text

    out.say(f"\nDone in {seconds:.0f} s. Office {office_id}, {days} days; cost: none, no model was called.")
    if accepted is not None:
        out.say(f"  A deliverable to open:   {_copy(house, office, accepted, place)}")
    if note is not None:
        faults = "\n      ".join(text(note[1]).split("\n")[:4])
        out.say(f"  Work that was sent back: {note[0]}\n      {faults}")
    out.say(f"  A frozen task:           {snapshot}")
    out.say("\nNext:")
    out.say(f"  .venv/bin/officetown log {office_id} | less            read the office's days")
    out.say(f"  .venv/bin/officetown run {office_id} --days {days + 20} --follow   let it go on")
    out.say(
        '  .venv/bin/officetown new "A nine-person clinical trial operations group serving two biotech sponsors" -o clinic'
    )


def _copy(house: House, office: Office, ref: FileRef, place: Path) -> Path:
    file = office.files[ref.file]
    target = place / file.path.rsplit("/", 1)[-1]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(house.blobs.get(file.versions[ref.version - 1].blob.sha256))
    return target
