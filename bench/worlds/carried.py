"""What a frozen task carries of the systems of record that its assistant had: `/mnt/services/systems`.

Definitions, states as of the round's moment, and the command that runs them. A definition holds no state, so nothing of
earlier or later is in it; whoever may use a system may read both.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files

import bench.worlds
from bench.worlds import desk
from simulator.access import Subject, can
from simulator.businesstime import calendar_for
from simulator.office import Office
from simulator.ports import Blob

FOLDER = "systems"
COMMAND = f"/mnt/services/{FOLDER}/system.py"
CARRIED = ("arguments.py", "command.py", "desk.py", "effects.py", "pointers.py")
"""Modules of this package that need the standard library alone."""
NOTE = (
    f"- `python3 {COMMAND}` lists the firm's systems of record that you may use, and calls them; what you do in them is kept\n"
    "  in `/home/npc/computer/.systems`.\n"
)
"""What an agent is told besides, where there are any."""
_SHIM = '''#!/usr/bin/env python3
"""Calls the systems of record beside this file. Without arguments it lists them; README.md says more."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from _desk.command import main  # noqa: E402

sys.exit(main(sys.argv[1:], HERE))
'''
Carried = tuple[str, bytes, int, str]
"""(path below `/mnt/services`, bytes, mode, why it may be seen)."""


def carried(office: Office, subject: Subject, at: int, fetch: Callable[[Blob], bytes]) -> list[Carried]:
    """Return the files for the systems that `subject` may use in `office`, by the plain loop; none where there is none.

    `at` is the instant whose day the systems go by; `fetch` gives bytes of the store.
    """
    day = calendar_for(office.calendar).day(at)
    found: list[Carried] = []
    titles: list[tuple[str, str]] = []
    for name in sorted(office.systems):
        decision = can(subject, "use_system", name, office)
        if not decision.allowed:
            continue
        system = office.systems[name]
        state = desk.encode({"day": day, "state": desk.decode(fetch(system.state))})
        titles.append((name, system.title))
        found.append((f"{FOLDER}/{name}/definition.json", fetch(system.definition), 0o644, decision.reason))
        found.append((f"{FOLDER}/{name}/state.json", state, 0o644, decision.reason))
    return [*found, *_command(titles)] if found else []


def _command(titles: list[tuple[str, str]]) -> list[Carried]:
    why = "runs the systems of record that the principal may use"
    code = {f"_desk/{name}": files(bench.worlds).joinpath(name).read_bytes() for name in CARRIED}
    code |= {"_desk/__init__.py": b"", "README.md": _readme(titles).encode()}
    listed = [(f"{FOLDER}/{path}", data, 0o644, why) for path, data in code.items()]
    return [*listed, (f"{FOLDER}/system.py", _SHIM.encode(), 0o755, why)]


def _readme(titles: list[tuple[str, str]]) -> str:
    rows = "\n".join(f"- `{name}`: {json.dumps(title, ensure_ascii=False)[1:-1]}" for name, title in titles)
    return (
        f"# Systems of record\n\n{rows}\n\n"
        f"    python3 {COMMAND}                          which there are\n"
        f"    python3 {COMMAND} SYSTEM                   its tools and their arguments\n"
        f"    python3 {COMMAND} SYSTEM TOOL '{{...}}'      a call; `-` reads the arguments from stdin\n\n"
        "They are as this round began. Each call is answered at once, on one line of JSON; exit code 1: the system said no.\n"
        "Your calls and the state they led to are in `/home/npc/computer/.systems` and are handed in with your home.\n"
    )
