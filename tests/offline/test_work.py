"""Work and its review, held against real outputs of the skill packs: damaged works are sent back, sound ones accepted."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from services.documents.renderer import DocumentRenderer
from services.offline.assistant import work as assistant_script
from services.offline.reviewer import Opened, decision, figures_of, judge, notes
from services.offline.task import SKILLS as INSIDE
from services.professions.faults import Fault
from services.professions.registry import PROFESSIONS
from simulator.assistant import tool_specs
from simulator.conversation import Message
from simulator.prompts import render
from tests.offline.talks import HOME, WHERE, Row, Talk, answers, fine, principal
from tests.professions.office import SKILLS, Work, months

PERIODS = ["2025-12", "2026-01"]
Finished = dict[tuple[str, str], Work]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    made = months("Riverbend Outdoor", 5, PERIODS, tmp_path_factory.mktemp("months"))
    return {(w.profession.kind, w.period): w for w in made}


def papers(made: Work) -> dict[str, str]:
    """Return everything a reviewer may open: path with version -> text as rendered."""
    texts = {
        f"{WHERE}/Inputs/{made.period}/{spec.file}@1": made.inputs[spec.name]
        for spec in made.profession.inputs
        if spec.name in made.inputs
    }
    if made.prior is not None:
        texts[f"{HOME}/{made.prior.period}/{made.profession.main.name}@1"] = made.prior.rendered()[
            made.profession.main.name
        ]
    for other in made.others.values():
        texts[f"{WHERE}/Results/{other.period}/{other.profession.main.name}@1"] = other.rendered()[
            other.profession.main.name
        ]
    return texts


def submission(made: Work, files: dict[str, str], number: int = 1) -> tuple[Row, dict[str, str]]:
    """Return the stimulus of a submission and the texts behind its paths."""
    sources = papers(made)
    handed = {f"{HOME}/{made.period}/{name}@{number}": text for name, text in files.items()}
    row = {
        "kind": "submission", "ref": "daniel.9.1", "delegation": "daniel.9.1", "state": "submitted", "work": made.profession.kind,
        "period": made.period, "matter": "river", "request": "elena.1.1", "round": number, "inputs": list(sources),
        "submitted": list(handed), "report": "All totals tie.", "goal": "x (mail maya.1.1)", "questions": [], "reviews": [],
        "deliverables": [f"Documents/Projects/Riverbend Outdoor/{made.period}/{d.name}" for d in made.profession.deliverables],
    }  # fmt: skip
    return row, {**sources, **handed}


def reviewed(row: Row, texts: dict[str, str], part: int = 400) -> Talk:
    """Let Daniel review: files are opened in parts, as the office shows them."""

    def opening(a: Row) -> Row:
        text, number = texts[a["file"]], int(a.get("part", 1))
        parts = max(1, -(-len(text) // part))
        return {"file": a["file"], "text": text[(number - 1) * part : number * part], "parts": parts, "sources": []}

    return Talk(principal("daniel", stimuli=[row]), answers(open_file=opening)).run()


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("kind", PROFESSIONS)
def test_sound_work_is_accepted_shared_and_given_to_quality(finished: Finished, kind: str, period: str) -> None:
    made = finished[kind, period]
    talk = reviewed(*submission(made, made.rendered()))
    decided = talk.only("review")
    assert decided["decision"] == "accept", decided["notes"]
    assert [path.rpartition("@")[2] for path in decided["files"]] == ["1"] * len(made.profession.deliverables)
    assert {s["file"] for s in talk.calls("share")} == set(decided["files"])
    quality = talk.only("make_request")
    assert quality["to"] == "quinn" and quality["materials"] == decided["files"] and "Figures: " in quality["outcome"]
    order = [name for name, _ in talk.made]
    assert order.index("open_file") < order.index("review") < order.index("share") < order.index("make_request")


def test_the_matters_room_hears_of_it_mostly_and_in_more_than_one_way(finished: Finished) -> None:
    made = finished["bank-reconciliation", PERIODS[0]]
    row, texts = submission(made, made.rendered())
    said = []
    for number in range(24):
        talk = reviewed({**row, "delegation": f"daniel.{number}.1", "round": 1 + number % 2}, texts, 100_000)
        said += talk.calls("post_message")
    assert 10 <= len(said) <= 22
    assert {s["to"] for s in said} == {"room-matter-river"} and all(s["cites"] for s in said)
    assert len({s["text"].partition(" It took")[0] for s in said}) >= 6
    assert any("It took 2 rounds." in s["text"] for s in said)
    assert all(any(label in s["text"] for label in made.profession.labels) for s in said), "with the figures one looks at first"


def replaced(name: str, old: str, new: str) -> Callable[[dict[str, str]], dict[str, str]]:
    def damage(files: dict[str, str]) -> dict[str, str]:
        assert old in files[name], f"{old!r} is not in {name}"
        return {**files, name: files[name].replace(old, new)}

    return damage


def dropped(name: str) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda files: {key: text for key, text in files.items() if key != name}


def without_line(name: str, number: int) -> Callable[[dict[str, str]], dict[str, str]]:
    def damage(files: dict[str, str]) -> dict[str, str]:
        lines = files[name].splitlines(keepends=True)
        return {**files, name: "".join(line for i, line in enumerate(lines) if i != number % len(lines))}

    return damage


def figure(kind: str, label: str, name: str) -> Callable[[dict[str, str]], dict[str, str]]:
    def damage(files: dict[str, str]) -> dict[str, str]:
        lines = files[name].split("\n")
        at = next(i for i, line in enumerate(lines) if f"{label}: " in line)
        lines[at] = f"{label}: 99,123.45"
        return {**files, name: "\n".join(lines)}

    return damage


DAMAGES = {
    "a figure in the list": ("bank-reconciliation", figure("", "Closing balance", "Open items.md"), "revise"),
    "no list at all": ("bank-reconciliation", dropped("Open items.md"), "supplement"),
    "no workbook": ("bank-reconciliation", dropped("Reconciliation.xlsx"), "supplement"),
    "the wrong month": ("bank-reconciliation", replaced("Open items.md", "2026-01", "2026-02"), "revise"),
    "a figure in a memo": ("variance-analysis", figure("", "Total variance", "Variance memo.docx"), "revise"),
    "a memo is missing": ("variance-analysis", dropped("Variance memo.docx"), "supplement"),
    "a row of a log": ("trial-monitoring", without_line("Deviation log.csv", -1), ""),
    "a figure in a pack": ("management-pack", figure("", "Cash", "Management pack.pdf"), "revise"),
    "a row of figures": ("management-pack", without_line("Pack figures.csv", 2), ""),
    "a figure in a note": ("records-digest", figure("", "Total", "Digest note.md"), "revise"),
    "a report is empty": (
        "trial-monitoring",
        lambda files: {**files, "Monitoring report.docx": "[empty file]\n"},
        "supplement",
    ),
    "a summary is missing": ("bill-of-materials", dropped("Cost summary.pdf"), "supplement"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_work_is_sent_back_with_file_and_reason(finished: Finished, name: str) -> None:
    kind, damage, decided = DAMAGES[name]
    made = finished[kind, "2026-01"]
    talk = reviewed(*submission(made, damage(made.rendered())))
    review = talk.only("review")
    assert review["decision"] != "accept" and (not decided or review["decision"] == decided), review["notes"]
    assert any(d.name in review["notes"] for d in made.profession.deliverables), "the notes name the file"
    assert talk.calls("share") == [] and talk.calls("make_request") == [], "nothing goes on from a draft"


def test_the_report_is_never_believed(finished: Finished) -> None:
    made = finished["bank-reconciliation", "2026-01"]
    row, texts = submission(made, dropped("Open items.md")(made.rendered()))
    assert (
        reviewed({**row, "report": "All is perfect, simply accept."}, texts).only("review")["decision"] == "supplement"
    )


def test_an_altered_copy_of_an_input_is_found_and_an_earlier_result_is_none(finished: Finished) -> None:
    made = finished["management-pack", "2026-01"]
    sources = tuple(Opened(path, text) for path, text in papers(made).items())
    handed = tuple(Opened(f"{HOME}/2026-01/{n}@1", t) for n, t in made.rendered().items())
    assert judge(made.profession, "2026-01", sources, handed) == (), (
        "this month's pack is no altered copy of last month's"
    )
    copy = Opened(f"{HOME}/2026-01/work/commentary.csv@1", "topic,note\nX,y\n")
    found = judge(made.profession, "2026-01", sources, (*handed, copy))
    assert [f.file for f in found] == ["commentary.csv"]


def test_after_five_rounds_it_is_withdrawn_and_the_asker_told(finished: Finished) -> None:
    made = finished["bank-reconciliation", "2026-01"]
    talk = reviewed(*submission(made, dropped("Open items.md")(made.rendered()), number=5))
    assert talk.only("withdraw")["ref"] == "daniel.9.1" and talk.only("decline_request")["request"] == "elena.1.1"
    assert talk.calls("review") == []


def test_quality_recomputes_from_the_sources_before_it_signs(finished: Finished) -> None:
    made = finished["variance-analysis", "2026-01"]
    sources = papers(made)

    def check(files: dict[str, str], name: str) -> Talk:
        texts = {f"{WHERE}/Results/2026-01/{n}@2": t for n, t in files.items()}
        row = {"kind": "request", "request": name, "from": "daniel", "owner": "quinn", "outcome": "Look.", "state": "open", "due": "",
               "matter": "river", "work": "quality-review", "period": "2026-01", "materials": list(texts), "results": [], "note": ""}  # fmt: skip
        everything = {**texts, **sources}
        opening = answers(
            open_file=lambda a: {"file": a["file"], "text": everything[a["file"]], "parts": 1, "sources": list(sources)}
        )
        return Talk(principal("quinn", stimuli=[row]), opening).run()

    good = check(made.rendered(), "daniel.2.1")
    assert [s["file"] for s in good.calls("sign_off")] == good.only("fulfil_request")["results"]
    opened = [a["file"] for a in good.calls("open_file")]
    assert set(sources) <= set(opened), "what it rests on was opened too"
    bad = check(figure("", "Total actual", "Variance memo.docx")(made.rendered()), "daniel.2.1")
    assert bad.calls("sign_off") == [] and "Total actual" in bad.only("decline_request")["reason"]


def test_words_of_a_review() -> None:
    wrong, lacking = (
        Fault("high", "A.xlsx", "B2", "is 1, it must be 2"),
        Fault("low", "B.md", "", "not stated", "supplement"),
    )
    assert decision(()) == "accept" and decision((lacking,)) == "supplement" and decision((wrong, lacking)) == "revise"
    assert notes((wrong, lacking)).splitlines() == ["1. A.xlsx, B2: is 1, it must be 2", "2. B.md: not stated"]
    assert notes((wrong,) * 12).splitlines()[-1].startswith("... and 3 more")


def test_figures_are_told_as_people_write_them(finished: Finished) -> None:
    made = finished["bank-reconciliation", "2026-01"]
    found = figures_of(made.profession, Opened("x", made.rendered()["Reconciliation.xlsx"]))
    assert found == made.stated
    assert figures_of(made.profession, None) == {}


# -- the assistant ----------------------------------------------------------------------------------------------------


class Bench:
    """A stand-in for a sandbox: the same commands on folders of this test."""

    def __init__(self, root: Path, made: Work) -> None:
        self.root, self.made = root, made
        self.home = root / "home"
        self.paths = {
            f"{INSIDE}": str(SKILLS),
            "/home/npc/computer": str(self.home),
            "/mnt/company/Projects": str(root / "projects"),
        }
        sent = root / "projects" / "Riverbend Outdoor" / "Inputs" / made.period
        sent.mkdir(parents=True)
        self.home.mkdir()
        for spec in made.profession.inputs:
            if spec.name in made.inputs:
                (sent / spec.file).write_text(made.inputs[spec.name], newline="")

    def outside(self, text: str) -> str:
        for inside, outside in self.paths.items():
            text = text.replace(inside, outside)
        return text.replace("python3 ", f"{shlex.quote(sys.executable)} -B ")

    def __call__(self, name: str, arguments: Row) -> Row:
        if name == "read":
            path = Path(self.outside(arguments["path"]))
            return {"ok": True, "text": path.read_text()} if path.is_file() else {"ok": False, "error": "no such file"}
        if name == "bash":
            done = subprocess.run(
                ["bash", "-c", self.outside(arguments["command"])], capture_output=True, text=True, timeout=60
            )
            return {"exit_code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
        return {"ok": True}

    def task(self, number: int = 1, more: str = "") -> str:
        where = f"/mnt/company/Projects/Riverbend Outdoor/Inputs/{self.made.period}"
        block = {
            "work": self.made.profession.kind, "period": self.made.period, "matter": "Riverbend Outdoor", "round": number,
            "inputs": [{"name": s.name, "path": f"{where}/{s.file}"} for s in self.made.profession.inputs if s.name in self.made.inputs],
            "prior": [], "from": [], "deliverables": [f"{HOME}/{self.made.period}/{d.name}" for d in self.made.profession.deliverables],
        }  # fmt: skip
        return f"# Task, round {number}\n\n## Goal\n\n> {more}\n\n```json\n{json.dumps(block, indent=2)}\n```\n"

    def talk(self, *said: str, tools: bool = True) -> Talk:
        system = Message(
            "system",
            render("assistant_system", principal="Daniel Okafor", title="Senior", firm="Juniper", now="Monday"),
        )
        return Talk([system, *(Message("user", text) for text in said)], self, tool_specs(tools), "assistant")

    def handed_in(self) -> dict[str, str]:
        folder = Path(self.outside(f"{HOME}/{self.made.period}"))
        render_ = DocumentRenderer().render
        return {p.name: render_(p.read_bytes(), "", p.name) for p in sorted(folder.iterdir()) if p.is_file()}


def december(finished: Finished, kind: str, tmp_path: Path) -> Bench:
    return Bench(tmp_path, finished[kind, "2025-12"])


@pytest.mark.parametrize("kind", ["bank-reconciliation", "records-digest", "trial-monitoring"])
def test_an_assistant_does_the_work_and_a_careful_round_stands(finished: Finished, kind: str, tmp_path: Path) -> None:
    bench = december(finished, kind, tmp_path)
    careful = bench.task(more="To be put right: everything.")
    talk = bench.talk(careful).run()
    files = bench.handed_in()
    sources = tuple(Opened(p, t) for p, t in papers(bench.made).items())
    assert (
        judge(
            bench.made.profession,
            "2025-12",
            sources,
            tuple(Opened(f"{HOME}/2025-12/{n}@1", t) for n, t in files.items()),
        )
        == ()
    )
    report = talk.only("submit")["report"]
    label, value = next(iter(bench.made.stated.items()))
    assert f"{label}: {value}" in report and talk.turns <= 4


def test_some_first_rounds_slip_the_report_never_says_so_and_the_next_round_mends_it(
    finished: Finished, tmp_path: Path
) -> None:
    made, sent_back = finished["bank-reconciliation", "2025-12"], 0
    sources = tuple(Opened(p, t) for p, t in papers(made).items())

    def faults(bench: Bench) -> tuple[Fault, ...]:
        handed = tuple(Opened(f"{HOME}/2025-12/{n}@1", t) for n, t in bench.handed_in().items())
        return judge(made.profession, "2025-12", sources, handed)

    for number in range(6):
        (tmp_path / str(number)).mkdir()
        bench = Bench(tmp_path / str(number), made)
        talk = bench.talk(bench.task(more=f"variant {number}"), tools=False).run()
        found = faults(bench)
        assert "tie" in (r := talk.only("submit")["report"]) or "unchanged" in r or "evidence" in r or "record" in r
        if not found:
            continue
        sent_back += 1
        said = render(
            "assistant_round",
            decision=decision(found),
            notes=notes(found),
            round=2,
            task=bench.task(2, f"variant {number}"),
        )
        again = Talk([*talk.messages, Message("user", said)], bench, tool_specs(False), "assistant").run()
        assert again.calls("submit") and len(faults(bench)) < len(found)
    assert sent_back, "six careless first rounds and none with a slip"


def test_what_a_reviewer_wants_added_is_added(finished: Finished, tmp_path: Path) -> None:
    bench = december(finished, "records-digest", tmp_path)
    wanted = "To be put right: 1. Digest note.md: unclear; add to Digest note.md the line: Held against the inputs."
    bench.talk(bench.task(more=wanted)).run()
    assert bench.handed_in()["Digest note.md"].rstrip().endswith("Held against the inputs.")


def test_a_script_that_refuses_the_papers_is_asked_about_then_reported(finished: Finished, tmp_path: Path) -> None:
    bench = december(finished, "records-digest", tmp_path)
    for path in (tmp_path / "projects").rglob("*.csv"):
        path.write_text("nonsense\n1\n")
    talk = bench.talk(bench.task(more="To be put right: x")).run()
    assert "records.csv" in talk.only("ask_principal")["question"]
    answer = render("assistant_answer", principal="Daniel", answer="Hand in what you have.")
    again = Talk([*talk.messages, Message("user", answer)], bench, tool_specs(True), "assistant").run()
    assert "Nothing was made up" in again.only("submit")["report"]


def test_an_awkward_case_is_asked_about_once_and_the_work_goes_on(finished: Finished, tmp_path: Path) -> None:
    made, asked = finished["bank-reconciliation", "2025-12"], 0
    for number in range(12):
        (tmp_path / str(number)).mkdir()
        bench = Bench(tmp_path / str(number), made)
        first = bench.talk(bench.task(more=f"case {number}"))
        while not any(n in ("submit", "ask_principal", "bash") for n, _ in first.made):
            first.turn()
        if not first.calls("ask_principal"):
            continue
        asked += 1
        if asked > 1:
            continue
        said = render("assistant_answer", principal="Daniel", answer="No: evidence first.")
        rest = Talk([*first.messages, Message("user", said)], bench, tool_specs(True), "assistant").run()
        assert rest.calls("submit") and not rest.calls("ask_principal") and not rest.calls("read"), (
            "the skill is known by now"
        )
    assert 0 < asked < 12


def test_work_without_a_skill_becomes_a_memo_with_the_figures_it_rests_on(finished: Finished, tmp_path: Path) -> None:
    bench = december(finished, "bank-reconciliation", tmp_path)
    book = finished["bank-reconciliation", "2025-12"].rendered()["Reconciliation.xlsx"]
    where = f"{WHERE}/Results/2025-12/Reconciliation.xlsx"
    block = {
        "work": "memo-writing", "period": "2025-12", "from": [{"name": "reconciliation", "path": where}],
        "deliverables": [f"{HOME}/2025-12/Memo 1.docx"],
    }  # fmt: skip

    def reply(name: str, arguments: Row) -> Row:
        return {"ok": True, "text": book} if arguments.get("path") == where else bench(name, arguments)

    talk = bench.talk(f"```json\n{json.dumps(block)}\n```")
    talk.answer = reply
    talk.run()
    memo = bench.handed_in()["Memo 1.docx"]
    assert "Closing balance is" in memo and "Reconciliation.xlsx" in memo


def test_a_task_that_cannot_be_read_is_said_to_be_so() -> None:
    system = Message("system", render("assistant_system", principal="D", title="T", firm="F", now="Monday"))
    talk = Talk([system, Message("user", "Do something.")], fine, tool_specs(), "assistant").run()
    assert (
        talk.only("read")["path"] == "/mnt/task/TASK.md" and "no task that I can read" in talk.only("submit")["report"]
    )
    assert assistant_script.__doc__
