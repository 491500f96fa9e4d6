"""Experts: a queue of frozen tasks; each read with its files, rubric and reference, judged, and its reviews taken away as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import quote

from nicegui import ui

from bench.expert_agreement import Measure
from bench.expert_export import as_csv, as_json
from bench.expert_reviews import ExpertReview, QueueLine, moment, proposals
from bench.rubric import Rubric
from orchestrator.web.parts import Parts
from orchestrator.web.queries import experts
from orchestrator.web.ui import experts_form, kit
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.shell import Page, Shell

Places = Callable[[Parts], Sequence[Path]]
TREES = {
    "home": "The assistant's home", "task": "The task", "company": "The company's files", "services": "Talk, mail, calendar",
    "solution": "The reference: what was accepted",
}  # fmt: skip
_STATES = {None: "not seen by you", "": "you began", "accept": "you accepted", "reject": "you rejected"}


def pages(places: Places = lambda parts: experts.default_places(parts.house)) -> tuple[Page, ...]:
    """Return the experts' pages over the snapshots in some places."""

    def load_queue(ask: Ask) -> experts.Queue:
        return experts.queue_for(ask.parts.house, places(ask.parts), ask.get("expert"))

    def load_one(ask: Ask) -> experts.Opened:
        return experts.opened(ask.parts.house, places(ask.parts), ask.get("version"), ask.get("expert"))

    whole = Page("experts", "/experts", "Experts", "school", load_queue, partial(draw_queue, places), every=0)
    one = Page(
        "expert", "/experts/{version}", "Review a task", "school", load_one, partial(draw_one, places), menu=False, every=0,
        under="experts",
    )  # fmt: skip
    return whole, one


# -- the queue ------------------------------------------------------------------------------------------------------------


def draw_queue(places: Places, shell: Shell, data: experts.Queue) -> None:
    """Draw the queue, the agreement, and the ways to take the reviews away."""
    kit.heading("Experts", 1)
    with kit.card("Who are you?"):
        kit.text(
            "Reviews bear your name. Write it as you always do: it is how your earlier reviews are found.", "hint", "p"
        )
        experts_form.line("Your name", data.expert, lambda v: shell.turn(expert=v.strip()), "expert-name")
    with kit.card("Tasks to review", test="expert-queue"):
        for fault in data.unreadable:
            kit.text(fault, "hint", "p")
        if not data.lines:
            kit.empty(
                "There are no snapshots here yet. Freeze some work of an office, or name a folder: officetown review FOLDER"
            )
        for line in data.lines:
            _line(line, data.expert)
    _agreement(data)
    with kit.card("Take the reviews away"):
        kit.text(f"{data.reviews} reviews of these tasks are kept.", "hint", "p")
        with kit.box("row"):
            for name, make in (("json", as_json), ("csv", as_csv)):
                kit.button(
                    name.upper(), partial(_export, shell, places, name, make), "", "download", f"Download all reviews as {name.upper()}",
                    f"export-{name}",
                )  # fmt: skip


def _line(line: QueueLine, expert: str) -> None:
    with kit.box("row between", test=f"queue-{line.snapshot}"):
        with kit.box("stack"):
            name = f"{line.work.replace('-', ' ').capitalize()}, {line.period}" + (f", round {line.round}" if line.round > 1 else "")
            kit.link(name, f"/experts/{line.version}" + (f"?expert={quote(expert)}" if expert else ""), "strong")
            kit.text(f"{line.role}, {line.firm}", "faint")
        with kit.box("row"):
            kit.chip(f"{line.accepted} accept", "good" if line.accepted else "")
            kit.chip(f"{line.rejected} reject", "bad" if line.rejected else "")
            if expert:
                kit.chip(_STATES[line.mine], "play" if line.mine is None else "")
            if line.older:
                kit.chip(f"{line.older} of other versions", "warn")


def _agreement(data: experts.Queue) -> None:
    found = data.agreement
    with kit.card("Agreement between experts", test="agreement"):
        if not found.experts:
            kit.empty("Nobody has reviewed anything here yet.")
            return
        kit.facts([
            ("Experts", ", ".join(found.experts)),
            ("On accepting", _measure(found.verdicts, "Fleiss'")),
            ("On criteria", _measure(found.criteria, "Fleiss'")),
        ])  # fmt: skip
        if found.pairs:
            rows = [(p.first, p.second, *_numbers(p.measure)) for p in found.pairs]
            kit.table(
                "Agreement of each two experts on accepting",
                ("Expert", "and", "n", "agree", "Cohen's kappa"),
                rows,
                "pairs",
            )


def _measure(m: Measure, whose: str) -> str:
    if not m.items or m.share is None:
        return m.note
    kappa = f"{whose} kappa {m.kappa:.2f}" if m.kappa is not None else f"no kappa: {m.note}"
    return f"{100 * m.share:.0f} % of {m.pairs} pairs agree (n = {m.items}); {kappa}"


def _numbers(m: Measure) -> tuple[str, str, str]:
    share = f"{100 * m.share:.0f} %" if m.share is not None else "-"
    return str(m.items), share, f"{m.kappa:.2f}" if m.kappa is not None else "-"


async def _export(shell: Shell, places: Places, name: str, make: Callable[[Iterable[ExpertReview]], bytes]) -> None:
    def work() -> bytes:
        return make(experts.said_here(shell.parts.house, places(shell.parts)))

    data = await shell.telling(work)
    if data is not None:
        ui.download.content(data, f"expert-reviews.{name}")


# -- one task -------------------------------------------------------------------------------------------------------------


def draw_one(places: Places, shell: Shell, data: experts.Opened) -> None:
    """Draw one task with everything to judge it by, and the form."""
    m = data.manifest
    form = experts_form.begun(data.mine)
    kit.heading(f"{m.work.replace('-', ' ').capitalize()}, {m.period}", 1)
    with kit.box("two"):
        with kit.box("stack"):
            _task(form, data)
            _files(shell, places, data)
        with kit.box("stack"):
            with kit.card("What it is"):
                kit.facts(experts_form.about(data))
                if data.revision is not None:
                    kit.text(f"Revised from {data.revision.base} by {data.revision.review.expert}:", "label")
                    for change in data.revision.changes:
                        kit.text(change, "said", "p")
            _history(shell, places, data)
    kit.heading("Criteria", 2)
    if data.asked:
        with kit.box("cards"):
            for asked in data.asked:
                experts_form.criterion(form, asked)
    experts_form.additions(form)
    _verdict(shell, places, data, form)


def _task(form: experts_form.Form, data: experts.Opened) -> None:
    with kit.card("The task"):
        kit.text(data.task, "pre", "pre", tabindex="0", role="region", label="The task's text", test="task-text")
        with kit.fold("Propose another text", is_open=bool(form.values["task"])):
            experts_form.area(
                "Another text of the task", form.values["task"] or data.task, form.setter("task"), "task-revision", 14
            )  # fmt: skip


def _files(shell: Shell, places: Places, data: experts.Opened) -> None:
    with kit.card("Files"):
        for place, words in TREES.items():
            some = [f for f in data.files if f.place == place]
            if not some:
                continue
            with kit.fold(f"{words} ({len(some)})", test=f"files-{place}"), kit.box("stack"):
                for file in some:
                    with kit.box("row between"):
                        with kit.box("stack"):
                            kit.text(file.path, "mono said")
                            kit.text(f"{file.size:,} bytes" + (f" · {file.why}" if file.why else ""), "faint said")
                        kit.button(
                            "Read", partial(_read, shell, places, data.manifest.hash, file), "small", label=f"Read {file.path}",
                            test="read-file",
                        )  # fmt: skip


async def _read(shell: Shell, places: Places, version: str, file: experts.FileLine) -> None:
    def work() -> experts.Content:
        return experts.content(experts.find(places(shell.parts), version), file.place, file.path)

    found = await shell.telling(work)
    if found is None:
        return
    with ui.dialog(value=True) as dialog, kit.card(found.name, "dialog wide", role="dialog", label=found.name):
        kit.text(found.path, "mono said faint", "p")
        if found.cut:
            kit.text("It is longer than what is shown.", "hint", "p")
        kit.text(
            found.text or "It holds no text.",
            "pre",
            "pre",
            tabindex="0",
            role="region",
            label="Its content",
            test="file-text",
        )
        with kit.box("row end"):
            kit.button(
                "Download", lambda: ui.download.content(found.data, found.name), "", "download", test="file-download"
            )
            kit.button("Close", dialog.close, "main", test="file-close")
    dialog.on("hide", dialog.delete)


def _history(shell: Shell, places: Places, data: experts.Opened) -> None:
    with kit.card("Reviews of this version", test="reviews"):
        if data.older:
            kit.text(f"{data.older} reviews are of other versions of this task; they do not count here.", "hint", "p")
        if not data.reviews:
            kit.empty("Nobody has reviewed it yet.")
        rubric = Rubric("", tuple(a.criterion for a in data.asked))
        standing = {r.id for r in data.standing}
        for review in data.reviews:
            with kit.box("stack"):
                with kit.box("row"):
                    kit.text(review.expert, "strong")
                    kit.text(moment(review.at), "faint num")
                    word = review.said.verdict
                    kit.chip(experts_form.VERDICTS[word].lower(), {"accept": "good", "reject": "bad"}.get(word, ""))
                    if review.id not in standing:
                        kit.chip("earlier")
                if review.said.comment:
                    kit.text(review.said.comment, "said", "p")
                for remark in review.said.remarks:
                    said = " ".join(part for part in (experts_form.OPINIONS[remark.opinion], remark.comment) if part)
                    kit.text(f"{remark.criterion}: {said}", "said faint", "p")
                for change in proposals(rubric, review.said):
                    kit.text(f"Proposed: {change}", "said faint", "p")
                if review.id in standing and review.said.proposes:
                    kit.button(
                        "Write out as a new snapshot", partial(_write, shell, places, review), "small", "output",
                        f"Write {review.expert}'s proposals out as a new snapshot", "write-revised",
                    )  # fmt: skip


async def _write(shell: Shell, places: Places, review: ExpertReview) -> None:
    ui.notify("The revised task is being audited and calibrated…")
    made = await shell.telling(lambda: experts.write_revised(shell.parts.house, places(shell.parts), review))
    if made is not None:
        ui.notify(f"Written and audited: {made.folder}", type="positive", multi_line=True, timeout=20_000)


def _verdict(shell: Shell, places: Places, data: experts.Opened, form: experts_form.Form) -> None:
    asked = {a.criterion.id: a for a in data.asked}
    name = {"value": shell.query.get("expert", "")}

    async def save() -> None:
        def work() -> object:
            house, at = shell.parts.house, shell.parts.wall()
            return experts.save(house, places(shell.parts), data.manifest.hash, name["value"], form.said(asked), at)

        if await shell.telling(work) is not None:
            ui.notify("Saved.", type="positive")
            await shell.turn(expert=name["value"].strip())

    with kit.card("Your verdict", test="verdict"):
        kit.text("Your name", "label")
        experts_form.line("Your name", name["value"], lambda v: name.update(value=v), "expert-name")
        kit.text("May this task be used as it is?", "label")
        kit.choice("Verdict", experts_form.VERDICTS, form.values["verdict"], form.setter("verdict"), "expert-verdict")
        kit.text("Why", "label")
        experts_form.area(
            "Your comment on the whole task", form.values["comment"], form.setter("comment"), "expert-comment"
        )
        with kit.box("row end"):
            kit.link("Back to the queue", "/experts" + _me(name["value"]), "btn")
            kit.button("Save", save, "main", "check", test="expert-save")


def _me(expert: str) -> str:
    return f"?expert={quote(expert)}" if expert else ""


PAGES = pages()
