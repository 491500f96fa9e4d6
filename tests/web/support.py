"""What the web's tests share: a site over real HTTP on the loopback, and short ways to ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from orchestrator.compose import House
from orchestrator.settings import read_settings
from orchestrator.web.app import application, parts_for
from orchestrator.web.parts import Parts
from orchestrator.web.serve import listen

OPERATOR_KEY = "operator-key-of-the-tests"


class Site:
    """A served application and clients of it."""

    def __init__(self, url: str, parts: Parts) -> None:
        self.url = url
        self.parts = parts
        self.house = parts.house
        self._clients: dict[str, httpx.Client] = {}

    def client(self, key: str = OPERATOR_KEY) -> httpx.Client:
        """Return a client that brings a key; the operator's without one."""
        if key not in self._clients:
            headers = {"authorization": f"Bearer {key}"} if key else {}
            self._clients[key] = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=60)
        return self._clients[key]

    def ask(self, path: str, /, key: str = OPERATOR_KEY, **query: object) -> Any:
        """Ask for something that must be there."""
        answer = self.client(key).get(path, params={k: str(v) for k, v in query.items()} or None)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        return answer.json()

    def every(self, path: str, /, key: str = OPERATOR_KEY, limit: int = 500, **query: object) -> list[Any]:
        """Return all items of a paged list, page by page."""
        found: list[Any] = []
        more = True
        while more:
            part = self.ask(path, key, skip=len(found), limit=limit, **query)
            found.extend(part["items"])
            more = part["more"]
        return found

    def tell(self, method: str, path: str, body: object = None, key: str = OPERATOR_KEY, status: int = 200) -> Any:
        """Make a call that changes something and must end with `status`."""
        answer = self.client(key).request(method, path, json=body)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def refused(self, path: str, status: int, key: str = OPERATOR_KEY, method: str = "GET", **more: Any) -> str:
        """Make a call that must be refused in the one shape; return its words."""
        answer = self.client(key).request(method, path, **more)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}"
        body = answer.json()
        assert set(body) == {"error"} and set(body["error"]) == {"code", "message", "where"}
        assert body["error"]["message"]
        return str(body["error"]["message"])

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


@contextmanager
def site(
    home: Path, token: str = OPERATOR_KEY, closing: Callable[[], bool] = lambda: False, **parts: Any
) -> Iterator[Site]:
    """Serve a home for as long as the block runs."""
    house = House(read_settings({"OFFICETOWN_HOME": str(home)}), **parts)
    made = parts_for(house, token, closing)
    served = listen(application(made), "127.0.0.1", 0).start()
    one = Site(served.url, made)
    try:
        yield one
    finally:
        one.close()
        left = made.town.close(30)
        served.close()
        house.close()
    assert not left, "an office did not stop"
