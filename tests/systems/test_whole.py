"""The whole way by the command line: a package with a bank portal, checked, run, replayed, carried elsewhere, frozen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.offline import OfflineProfessional
from simulator.canonical import canonical
from simulator.conversation import ModelRequest, ModelResponse, ToolCall
from tests.orchestrator.support import Desk
from tests.systems.packages import copy_of_juniper

pytestmark = pytest.mark.sandbox
CALLS = (("list_payments", {"day": "2025-09-18"}), ("get_account", {"account": "AC-20"}))
BANK = ("bank-portal", "audience: [everyone]\nlevel: public\n")


class Clerk:
    """The offline professional, but that its assistants look at the bank first, and one of them pays an invoice there."""

    def __init__(self) -> None:
        self.inner = OfflineProfessional()

    def complete(self, request: ModelRequest) -> ModelResponse:
        if request.role != "assistant" or not any(t.name.startswith("bank__") for t in request.tools):
            return self.inner.complete(request)
        if len(request.messages) == 2:
            made = [("prepare_payment", {"account": "AC-10", "invoice": "IN-301"}), *CALLS]
            calls = tuple(ToolCall(f"b{n}", f"bank__{tool}", canonical(a).decode()) for n, (tool, a) in enumerate(made))
            return ModelResponse(tool_calls=calls, finish="tool_calls", model="clerk")
        # The professional knows nothing of banks: it is shown the conversation without that turn.
        head, rest = request.messages[:2], request.messages[2:]
        kept = tuple(m for m in rest if not m.tool_call_id.startswith("b") and not any(c.name.startswith("bank__") for c in m.tool_calls))
        tools = tuple(t for t in request.tools if not t.name.startswith("bank__"))
        return self.inner.complete(msgspec.structs.replace(request, messages=(*head, *kept), tools=tools))


def test_an_office_with_a_bank_from_package_to_frozen_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk(tmp_path / "home", capsys)
    package = copy_of_juniper(tmp_path, bank=BANK)
    assert desk("check", package).code == 2, "not sealed"
    assert desk("check", package, "--seal").code == 0 and desk("check", package).code == 0

    def house() -> Any:
        return desk.house(model=Clerk())

    ran = desk.json("run", package, "--days", "2", "--seed", "1", make=house)
    office = ran["office"]
    raw = [json.loads(line) for line in desk("log", office, "--raw").out.splitlines()]
    calls = [e["payload"] for e in raw if e["payload"]["kind"] == "system.called/1"]
    assert len(calls) >= 6 and calls[0]["tool"] == "prepare_payment" and "outcome" not in calls[0], "the first one pays"
    assert all(c["outcome"] in ("conflict", "refused") for c in calls[3:] if c["tool"] == "prepare_payment"), "once"
    assert "calls prepare_payment of Payments in a bank portal" in desk("log", office).out
    assert desk.json("replay", office)["hash"] == ran["hash"]

    # Elsewhere it is the same office: definitions and states go with it.
    desk.json("pack", office, "-o", tmp_path / "office.pack")
    other = Desk(tmp_path / "other", capsys)
    other.json("unpack", tmp_path / "office.pack")
    assert other.json("replay", office)["hash"] == ran["hash"]

    reviews = [e["payload"] for e in raw if e["payload"]["kind"] == "work.reviewed/1"]
    done = next(r["delegation"] for r in reviews if r["review"]["decision"] == "accept")
    frozen = desk.json("freeze", office, "--delegation", done, "-o", tmp_path / "tasks")
    (folder,) = [p.parent for p in (tmp_path / "tasks").rglob("snapshot.json")]
    assert frozen["snapshots"] and (folder / "environment/mounts/services/systems/bank/state.json").is_file()
    assert desk.json("audit", folder)["findings"] == []
