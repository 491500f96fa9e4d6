"""The command of a frozen task: an agent calls the systems of record that it had. Standard library alone (`bench.worlds.carried`).

    python3 /mnt/services/systems/system.py                                   which systems there are
    python3 /mnt/services/systems/system.py SYSTEM                            its tools
    python3 /mnt/services/systems/system.py SYSTEM TOOL '{"name": "value"}'   a call; `-` reads the arguments from stdin

The systems below `/mnt` are as the round began and stay so. What is called is kept in the home, under `.systems`: one
file a system, with every call in order and the state after the last.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .desk import answer, decode, encode

KEPT = "/home/npc/computer/.systems"
"""Where states and calls are kept; the variable OFFICETOWN_SYSTEMS names another folder."""
DONE, REFUSED, WRONG = 0, 1, 2


def main(arguments: Sequence[str], root: Path) -> int:
    """Run the command for the systems below `root`. Returns 0, 1 where the system said no, 2 where the call was wrong."""
    systems = sorted(path.parent.name for path in root.glob("*/definition.json"))
    if not arguments:
        for name in systems:
            print(f"{name}: {decode((root / name / 'definition.json').read_bytes())['title']}")
        return DONE
    if arguments[0] not in systems or len(arguments) > 3:
        print(f"usage: system.py [SYSTEM [TOOL [ARGUMENTS]]]; the systems are: {', '.join(systems)}", file=sys.stderr)
        return WRONG
    definition = (root / arguments[0] / "definition.json").read_bytes()
    if len(arguments) == 1:
        for tool in decode(definition)["tools"]:
            print(f"{tool['name']}: {tool['description']}\n  {encode(tool['parameters']).decode()}")
        return DONE
    given = arguments[2] if len(arguments) == 3 else ""
    return _call(root, arguments[0], definition, arguments[1], sys.stdin.read() if given == "-" else given)


def _call(root: Path, system: str, definition: bytes, tool: str, given: str) -> int:
    start = decode((root / system / "state.json").read_bytes())
    folder = Path(os.environ.get("OFFICETOWN_SYSTEMS") or KEPT)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{system}.json"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            record: dict[str, Any] = decode(kept.read_bytes()) if kept.exists() else {"calls": [], "state": start["state"]}
            state, calls = encode(record["state"]), list(record["calls"])
        except (ValueError, KeyError, TypeError, OSError):
            print(f"{kept} is not what was kept there. Remove it, and {system} is as the round began.", file=sys.stderr)
            return WRONG
        told = answer(definition, state, tool, given, start["day"])
        call = {"tool": tool, "arguments": given, "observation": told.observation, "ok": told.ok}
        after = {"calls": [*calls, call], "state": decode(told.state)}
        scratch = folder / f".{system}.new"
        scratch.write_text(json.dumps(after, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        scratch.replace(kept)
    print(encode(decode(told.observation)).decode("utf-8", "replace"))
    return DONE if told.ok else REFUSED
