"""Making, running, pausing, stepping and forking offices, and freezing their work: for the operator."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from orchestrator.web import founding
from orchestrator.web.api import Routes, taking
from orchestrator.web.jobs import Job
from orchestrator.web.offices import Clock, RunAsked, Steer
from orchestrator.web.parts import BookOf, Name, Operator, PartsOf
from orchestrator.web.queries.offices import OfficeLine

routes = Routes("steering")
Only = Annotated[object, Operator]
FoundBody = Annotated[founding.FoundAsked, Depends(taking(founding.FoundAsked))]
ForkBody = Annotated[founding.ForkAsked, Depends(taking(founding.ForkAsked))]
FreezeBody = Annotated[founding.FreezeAsked, Depends(taking(founding.FreezeAsked))]
RunBody = Annotated[RunAsked, Depends(taking(RunAsked))]
SteerBody = Annotated[Steer, Depends(taking(Steer))]


@routes.get("/packages", tuple[founding.PackageLine, ...])
def list_packages(parts: PartsOf, caller: Only) -> tuple[founding.PackageLine, ...]:
    """The packages that an office can be made from."""
    return founding.packages(parts.house)


@routes.post("/offices", Job, founding.FoundAsked, 202)
def found_office(parts: PartsOf, caller: Only, body: FoundBody) -> Job:
    """Make an office from a package or a brief. The answer is a job whose result names the office."""
    return founding.found(parts.house, parts.town, parts.jobs, body)


@routes.get("/jobs", tuple[Job, ...])
def list_jobs(parts: PartsOf, caller: Only) -> tuple[Job, ...]:
    """Long work of this process, the latest first."""
    return parts.jobs.list()


@routes.get("/jobs/{job}", Job)
def get_job(parts: PartsOf, caller: Only, job: Name) -> Job:
    """One piece of long work."""
    return parts.jobs.get(job)


@routes.get("/offices/{office}/run", Clock)
def get_run(parts: PartsOf, book: BookOf) -> Clock:
    """How the office stands with its clock, and who runs it."""
    return parts.town.clock(book.id, look=True)


@routes.post("/offices/{office}/run", Clock, RunAsked)
def start_run(parts: PartsOf, book: BookOf, body: RunBody) -> Clock:
    """Run the office here, up to the end of a day."""
    return parts.town.start(parts.house.offices.find(book.id), body)


@routes.put("/offices/{office}/run", Clock, Steer)
def steer_run(parts: PartsOf, book: BookOf, body: SteerBody) -> Clock:
    """Pause, go on, step, or change the speed. The last command wins; the answer's version says where that leaves it."""
    return parts.town.steer(book.id, body)


@routes.delete("/offices/{office}/run", Clock)
def stop_run(parts: PartsOf, book: BookOf) -> Clock:
    """Stop the office at its next commit. What is in flight is stored first; nothing is lost."""
    return parts.town.stop(book.id, wait_s=5.0)


@routes.post("/offices/{office}/forks", OfficeLine, founding.ForkAsked, 201)
def fork_office(parts: PartsOf, book: BookOf, body: ForkBody) -> OfficeLine:
    """Fork the office at a past moment."""
    return founding.fork(parts.house, book, body)


@routes.post("/offices/{office}/snapshots", Job, founding.FreezeAsked, 202)
def freeze_work(parts: PartsOf, book: BookOf, body: FreezeBody) -> Job:
    """Freeze delegated work into scored tasks. The answer is a job whose result names the snapshots."""
    return founding.freeze(parts.house, parts.jobs, book.id, body)
