"""The application: parts, guard, routes, and the OpenAPI document."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from orchestrator.compose import House
from orchestrator.web import errors
from orchestrator.web.api import Routes
from orchestrator.web.book import Shelf
from orchestrator.web.guard import Guard, Hosts
from orchestrator.web.jobs import Jobs
from orchestrator.web.keys import Keys
from orchestrator.web.live import Streams
from orchestrator.web.offices import Town
from orchestrator.web.parts import Parts
from orchestrator.web.queries.costs import Ledger
from orchestrator.web.queries.reading import Rendered
from orchestrator.web.routes import acts, files, keys, offices, people, seats, steering, talk, watching, work
from simulator.events import ENGINE_VERSION

ALL: tuple[Routes, ...] = (
    keys.routes, offices.routes, steering.routes, watching.routes, people.routes, talk.routes, work.routes, files.routes,
    seats.routes, acts.routes,
)  # fmt: skip
_WORDS = """Watch simulated offices, look at any moment of their past, steer those that run, and act in them as a person.

The operator's key opens everything. A person's key opens what is below `/offices/OFFICE/as/PERSON` for them alone, and
shows what that person may see now. Errors have one shape: `{"error": {"code", "message", "where"}}`."""


def parts_for(
    house: House, token: str, closing: Callable[[], bool] = lambda: False, settled: Callable[[], None] = lambda: None
) -> Parts:  # fmt: skip
    """Return the parts of a house's web side. An empty `token` lets whoever brings no key be the operator.

    `settled` is called when an office that is looked at has been read whole.
    """
    issued = Keys(token, house.settings.home / "keys.json", lambda: int(time.time()))
    return Parts(house, Shelf(house, settled=settled), Town(house), issued, Jobs(time.time), Ledger(), Rendered(), closing, time.time)


def application(parts: Parts, host: str = "127.0.0.1", names: Iterable[str] = ()) -> FastAPI:
    """Return the application, bound to `host`; `names` are further names under which it may be called."""
    app = FastAPI(
        title="OfficeTown", version=ENGINE_VERSION, description=_WORDS, docs_url=None, redoc_url=None,
        openapi_url="/api/v1/openapi.json", redirect_slashes=False,
    )  # fmt: skip
    app.state.parts = parts
    app.state.streams = Streams()
    errors.install(app)
    for routes in ALL:
        app.include_router(routes.router)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    app.add_middleware(Guard, keys=parts.keys, hosts=Hosts(host, names))
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the schemas of what the routes take and give."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )  # fmt: skip
        components = document.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        for routes in ALL:
            schemas.update(routes.schemas)
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"key": []}, {}]
        app.openapi_schema = document
    return app.openapi_schema
