"""An assistant's task as it is told: the JSON block of TASK.md, and the run line of a skill pack."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

import msgspec

_BLOCK = re.compile(r"^```json\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
_RUN = re.compile(r"## Run\n+```sh\n(.*?)\n```", re.DOTALL)
_OPTIONAL = re.compile(r" ?\[([^\[\]]*)\]")
_HOLE = re.compile(r"\{(out|period|prior|(?:input|from):[\w-]+)\}")
SKILLS = "/mnt/company/Resources/Skills"


class Named(msgspec.Struct, frozen=True):
    """An input or result by the name that scripts know it by."""

    name: str
    path: str


class Earlier(msgspec.Struct, frozen=True):
    """This work's own earlier result."""

    path: str


class Task(msgspec.Struct, frozen=True, rename={"results": "from"}):
    """What TASK.md says for programs."""

    work: str = ""
    period: str = ""
    matter: str = ""
    round: int = 1
    inputs: tuple[Named, ...] = ()
    prior: tuple[Earlier, ...] = ()
    results: tuple[Named, ...] = ()
    deliverables: tuple[str, ...] = ()

    @property
    def out(self) -> str:
        """The folder that deliverables go to."""
        return self.deliverables[0].rpartition("/")[0] if self.deliverables else "/home/npc/computer"

    def values(self) -> dict[str, str]:
        """Return what the braces of a run line stand for."""
        known = {"out": self.out, "period": self.period or "1970-01"}
        known.update({f"from:{each.name.lower()}": each.path for each in self.results})
        known.update({f"input:{each.name}": each.path for each in (*self.results, *self.inputs)})
        if self.prior:
            known["prior"] = self.prior[-1].path
        return known


def read_task(text: str) -> Task | None:
    """Return the task that a text holds, the last block that is one; None where there is none."""
    for block in reversed(_BLOCK.findall(text)):
        try:
            return msgspec.json.decode(block, type=Task)
        except msgspec.MsgspecError:
            continue
    return None


def run_line(skill: str) -> str:
    """Return the run line of a SKILL.md, or nothing."""
    found = _RUN.search(skill)
    return found[1].strip() if found else ""


def fill(line: str, known: Mapping[str, str], options: Sequence[str] = ()) -> str:
    """Return a run line with its braces filled; a bracketed part that names something unknown is left out.

    A brace outside brackets that stands for nothing known stays as it is, so that the program's complaint names it.
    """

    def part(found: re.Match[str]) -> str:
        holes = _HOLE.findall(found[1])
        return f" {found[1]}" if all(hole in known for hole in holes) else ""

    kept = _OPTIONAL.sub(part, line)
    filled = _HOLE.sub(lambda found: shlex.quote(known[found[1]]) if found[1] in known else found[0], kept)
    return " ".join([filled, *options])
