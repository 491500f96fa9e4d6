"""The assistant: reads its task and the skill, runs the script on the mounted files, checks, asks, hands in."""

from __future__ import annotations

import hashlib
import re
import shlex
from typing import Any

import msgspec

from services.offline.awkward import awkward_case
from services.offline.heard import Heard, calls_since
from services.offline.reviewer import Opened, figures_of
from services.offline.script import Answer, Ask, Script, ask, call
from services.offline.slips import NONE, Slip, draw_slip
from services.offline.task import SKILLS, Named, Task, fill, read_task, run_line
from services.offline.worklore import by_main
from services.professions.base import Profession
from services.professions.registry import PROFESSIONS
from simulator.randomness import Stream

REVIEWED = "Your work was reviewed."
_ADD = re.compile(r"add to ([^`\n]+?) the line: ([^\n]+)")
_TASK = "/mnt/task/TASK.md"


class Desk:
    """What the assistant knows from its whole conversation so far."""

    def __init__(self, me: Heard) -> None:
        self.me = me
        self.said = [m.content for m in me.messages if m.role == "user"]
        self.before = calls_since(me.messages, -1)

    def known(self, path: str) -> str | None:
        """Return the text of a file that was read at any time before."""
        found = [a for made, a in self.before if made.name == "read" and made.arguments.get("path") == path]
        texts = [str(a["text"]) for a in found if a.get("ok")]
        return texts[-1] if texts else None

    @property
    def asked(self) -> bool:
        """Whether a question was asked in this conversation."""
        return any(m.tool_calls and m.tool_calls[-1].name == "ask_principal" for m in self.me.messages)


def work(me: Heard) -> Script:
    """Return the assistant's way through a round."""
    desk = Desk(me)
    task = next((t for t in map(read_task, reversed(desk.said)) if t is not None), None)
    text = desk.said[-1] if desk.said else ""
    if task is None:
        (answer,) = yield ask(call("read", path=_TASK))
        text = str(answer.get("text", ""))
        task = read_task(text)
    if task is None or not task.deliverables:
        yield _submit("There is no task that I can read, or it names no deliverable; nothing was made.")
        return
    kind = PROFESSIONS.get(task.work)
    skill = desk.known(f"{SKILLS}/{task.work}/SKILL.md") if task.work else None
    wanted = [f"{SKILLS}/{task.work}/SKILL.md"] if task.work and skill is None else []
    wanted += [each.path for each in task.inputs[:3] if desk.known(each.path) is None]
    texts = {path: desk.known(path) for path in (each.path for each in task.inputs)}
    if wanted:
        answers = yield ask(*(call("read", path=path) for path in wanted))
        read = dict(zip(wanted, answers, strict=True))
        texts.update({path: str(a["text"]) for path, a in read.items() if a.get("ok")})
        skill = skill or texts.get(f"{SKILLS}/{task.work}/SKILL.md")
    line = run_line(skill or "")
    if kind is None or not line:
        yield from _memo(task, {path: text or "" for path, text in texts.items()})
        return
    draw = _stream(desk, texts)
    question = _question(me, desk, task, kind, texts, draw)
    if question:
        yield ask(call("ask_principal", question=question))
        return
    slip = NONE if _corrects(desk) else draw_slip(_stream(desk, texts, "slip", task.round), task, kind)
    yield from _run(me, desk, task, line, slip)


def _corrects(desk: Desk) -> bool:
    """Whether the task itself is to put something right: then care is taken."""
    return any("To be put right:" in text for text in desk.said)


def _stream(desk: Desk, texts: dict[str, str | None], *purpose: str | int) -> Stream:
    """Return draws that belong to this task: to what was asked first and to the papers."""
    first = desk.said[0] if desk.said else ""
    papers = "\n".join(text or "" for _, text in sorted(texts.items()) if text is not None)
    digest = hashlib.sha256(f"{first}\n{papers}".encode()).hexdigest()
    return Stream(int(digest[:12], 16), "assistant", *purpose)


def _question(me: Heard, desk: Desk, task: Task, kind: Profession, texts: dict[str, str | None], draw: Stream) -> str:
    """Return a question where the papers show an awkward case and it seems worth one; asked once, before the first run."""
    if task.round > 1 or desk.asked or "ask_principal" not in me.tools or _corrects(desk):
        return ""
    named = {each.path.rpartition("/")[2]: texts.get(each.path) or "" for each in task.inputs}
    case = awkward_case(kind, named)
    return case if case and draw.chance(2, 5) else ""


def _run(me: Heard, desk: Desk, task: Task, line: str, slip: Slip) -> Script:
    known = {name: path for name, path in task.values().items() if name not in slip.without}
    commands = [f"mkdir -p {shlex.quote(task.out)}"]
    copies = f"{task.out}/work"
    if slip.copy_of:
        copy = f"{copies}/{slip.copy_of.rpartition('/')[2]}"
        commands += [f"mkdir -p {shlex.quote(copies)}", f"sed '$d' {shlex.quote(slip.copy_of)} > {shlex.quote(copy)}"]
        known = {name: copy if path == slip.copy_of else path for name, path in known.items()}
    elif task.round > 1:
        commands.append(f"rm -rf {shlex.quote(copies)}")
    run = fill(line, known, slip.options)
    commands.append(run)
    commands += [c for c in (slip.after, *_added(desk, task), _logged(desk, task)) if c]
    (done,) = yield ask(call("bash", command=" && ".join(commands)))
    figures = _figures(done)
    if done.get("exit_code") != 0:
        yield from _failed(me, desk, task, done)
        return
    (seen,) = yield ask(call("bash", command=_check(task)))
    yield _submit(_report(desk, task, figures, seen))


def _check(task: Task) -> str:
    sources = " ".join(shlex.quote(each.path) for each in task.inputs)
    return f"ls -l {shlex.quote(task.out)}" + (f"; sha256sum {sources}" if sources else "")


def _added(desk: Desk, task: Task) -> list[str]:
    """Return commands for lines that a reviewer wants added to a note."""
    commands = []
    paths = {path.rpartition("/")[2]: path for path in task.deliverables}
    asked = dict.fromkeys(pair for text in desk.said for pair in _ADD.findall(text))
    for file, text in asked:
        if file in paths and file.endswith(".md"):
            commands.append(f"printf '\\n%s\\n' {shlex.quote(text.strip())} >> {shlex.quote(paths[file])}")
    return commands


def _logged(desk: Desk, task: Task) -> str:
    """Now and then the work is noted in the matter's log, which other work of the same principal may be noting in too."""
    draw = _stream(desk, {}, "log", task.round)
    if not task.matter or not draw.chance(1, 3):
        return ""
    path = f"/home/npc/computer/Documents/Projects/{task.matter}/Work log.md"
    text = f"- {task.work or 'memo'} {task.period}, round {task.round}: made from {len(task.inputs)} inputs."
    return f"printf '%s\\n' {shlex.quote(text)} >> {shlex.quote(path)}"


def _figures(done: Answer) -> dict[str, str]:
    """Return the figures that a skill's script printed as JSON."""
    for line in str(done.get("stdout", "")).split("\n"):
        if line.startswith("{"):
            try:
                found: Any = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue
            if isinstance(found, dict) and isinstance(found.get("figures"), dict):
                return {str(k): str(v) for k, v in found["figures"].items()}
    return {}


def _report(desk: Desk, task: Task, figures: dict[str, str], seen: Answer) -> str:
    draw = _stream(desk, {}, "report", task.round)
    names = ", ".join(path.rpartition("/")[2] for path in task.deliverables)
    first = draw.choice((
        f"Done: {names} are in place.", f"{names}: finished and checked.", f"The work for {task.period} is complete: {names}.",
    ))  # fmt: skip
    if task.round > 1:
        first = draw.choice((
            f"Every note is worked in; {names} are new.",
            f"Put right as you asked: {names}.",
            f"Round {task.round}: {names} again.",
        ))  # fmt: skip
    stated = "; ".join(f"{label}: {value}" for label, value in list(figures.items())[:6])
    basis = [f"{len(task.inputs)} inputs"]
    basis += [f"the result of {task.prior[-1].path.split('/')[-2]}"] if task.prior else []
    basis += [f"the accepted {each.name}" for each in task.results]
    last = draw.choice((
        "All totals tie and every finding is cited.", "Checked against the inputs; originals are unchanged.",
        "Nothing was resolved without evidence.", "What is open is listed with its record.",
    ))  # fmt: skip
    return f"{first} Figures: {stated or 'see the files'}. Rests on {', '.join(basis)}. {last}"


def _failed(me: Heard, desk: Desk, task: Task, done: Answer) -> Script:
    complaint = str(done.get("stderr", "")).strip().split("\n")[-1][:400] or f"exit code {done.get('exit_code')}"
    if not desk.asked and "ask_principal" in me.tools:
        yield ask(
            call("ask_principal", question=f"The script does not take the papers: {complaint}. How shall I go on?")
        )
        return
    yield _submit(f"The script does not take the papers: {complaint}. Nothing was made up in its place.")


def _memo(task: Task, texts: dict[str, str]) -> Script:
    """Work without a skill of its own: set out what the inputs say in a short memo."""
    target = task.deliverables[0]
    sources = (*task.inputs, *task.results, *(Named("prior", each.path) for each in task.prior))
    unread = [each.path for each in sources if each.path not in texts]
    if unread:
        answers = yield ask(*(call("read", path=path) for path in unread))
        texts |= {path: str(a.get("text", "")) for path, a in zip(unread, answers, strict=True)}
    rows = [
        "section,text,source",
        "to,The principal,",
        "from,Assistant,",
        f"subject,{task.work or 'Memo'} {task.period},",
    ]
    rows += [row for each in sources for row in _points(each, texts.get(each.path, ""))]
    rows.append("What is open,Nothing in the inputs says more than this,")
    points = f"{task.out}/points.csv"
    script = f"{SKILLS}/memo-writing/scripts/memo.py"
    known = shlex.quote(task.period or "2000-01")
    made = f"{task.out}/Memo.docx"
    command = (
        f"mkdir -p {shlex.quote(task.out)} && printf '%s\\n' {' '.join(shlex.quote(row) for row in rows)} > {shlex.quote(points)} && "
        f"python3 {script} --out {shlex.quote(task.out)} --period {known} --input points={shlex.quote(points)}; rm -f {shlex.quote(points)}"
    )
    if made != target:
        command += f"; test -e {shlex.quote(made)} && mv {shlex.quote(made)} {shlex.quote(target)}"
    (done,) = yield ask(call("bash", command=command))
    if done.get("exit_code") != 0 or not target.endswith(".docx"):
        text = "# Memo\n\n" + "\n".join(f"- {each.name}: read, unchanged ({each.path})" for each in sources) + "\n"
        yield ask(call("write", path=target, text=text))
    yield _submit(
        f"A short memo is at {target.rpartition('/')[2]}. It says what the inputs are and what they do not answer."
    )


def _points(source: Named, text: str) -> list[str]:
    """Return what a source says as points: the figures of a known result, else how long it is."""
    name = source.path.rpartition("/")[2]
    kind = by_main(name)
    figures = figures_of(kind, Opened(source.path, text)) if kind is not None else {}
    if figures:
        return [f"What it rests on,{label} is {value},{name} sheet Summary" for label, value in figures.items()]
    return [f"What is there,{name} has {len(text.splitlines())} lines and is unchanged,{name}"]


def _submit(report: str) -> Ask:
    return ask(call("submit", report=report))
