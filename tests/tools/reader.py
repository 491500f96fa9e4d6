"""Somebody with their reading tools, on a firm that grows by acts."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from services.documents.renderer import DocumentRenderer
from services.storage.memory import MemoryJournal
from simulator.conversation import ToolCall
from simulator.engine.environment import Bodies, Environment
from simulator.engine.run import Run
from simulator.ports import Model
from simulator.records import Body, FileRef, Running
from simulator.tools.catalog import PERSON_TOOLS, known_tools
from simulator.tools.reading import read_tool
from tests.acts.desk import Desk


class Reading(Desk):
    """A desk at which people also read, as they do in an activation of their own."""

    def run(self, who: str) -> Run:
        """An activation of somebody's that starts now."""
        env = Environment(MemoryJournal(), self.blobs, cast(Model, None), None, DocumentRenderer())
        bodies = Bodies(env.journal)
        bodies.offer(self.texts)
        running = Running(f"{who}.700", "principal", who, (who,), self.world.now, self.office.revision)
        return Run(env, bodies, running, self.office, 10, 5)

    def read(self, who: str, tool: str, **args: Any) -> dict[str, Any]:
        """Use a reading tool as a model would, by its JSON; return its answer."""
        return use(self.run(who), who, tool, **args)

    def body_text(self, item: Body) -> str:
        return self.text(item)

    def put(self, owner: str, path: str, data: bytes | str, **more: Any) -> FileRef:
        """Save a file whose bytes are in the store."""
        text = data if isinstance(data, str) else ""
        ref = self.world.save(owner, f"home:{owner}", path, text, **more)
        raw = data.encode() if isinstance(data, str) else data
        stored = self.blobs.put(raw)
        file = self.office.files[ref.file]
        versions = (*file.versions[:-1], msgspec.structs.replace(file.versions[-1], blob=stored))
        files = self.office.files.insert(file.id, msgspec.structs.replace(file, versions=versions))
        self.world.office = msgspec.structs.replace(self.office, files=files)
        return ref


def use(run: Run, who: str, tool: str, **args: Any) -> dict[str, Any]:
    """Use a reading tool in an activation."""
    call = ToolCall("c1", tool, msgspec.json.encode(args).decode())
    parsed = run.parse(call, known_tools(PERSON_TOOLS))
    if isinstance(parsed, dict):
        return parsed
    answer = read_tool(run, who, tool, parsed)
    shown: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(answer))
    return shown
