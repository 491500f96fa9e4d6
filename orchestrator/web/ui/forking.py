"""A fork from a page: another future of the office, from the moment on the slider on."""

from __future__ import annotations

from nicegui import ui

from orchestrator.web import founding
from orchestrator.web.founding import ForkAsked
from orchestrator.web.ui import kit
from orchestrator.web.ui.paths import PATHS, address
from orchestrator.web.ui.shell import Shell

WITHOUT = {"": "As it was", "reviews": "Without reviews", "rights": "Without rights", "persistence": "Without memory"}


async def ask(shell: Shell) -> None:
    """Ask for a name and what to leave out, fork, and open what came of it."""
    office = shell.office
    wanted = {"name": "", "without": ""}
    with ui.dialog(value=True) as dialog, kit.card("Fork the office here", "dialog"):
        kit.text(f"The fork has this office's past up to revision {office.revision:,}, and a future of its own. The office "
                 "itself stays as it is.", "hint", "p")  # fmt: skip
        kit.text("Name", "label")
        name = kit.Tag("input", "field", None, label="Name of the fork", maxlength=100, test="fork-name")
        name.on("change", lambda e: wanted.update(name=str(e.args)), js_handler=kit.CHOSEN)
        kit.text("What is to be different", "label")
        kit.choice("What is to be different", WITHOUT, "", lambda v: wanted.update(without=v), "fork-without")

        async def fork() -> None:
            dialog.close()
            asked = ForkAsked(str(office.revision), (wanted["without"],) if wanted["without"] else (), wanted["name"])
            book = shell.book
            if book is None:
                return
            made = await shell.telling(lambda: founding.fork(shell.parts.house, book, asked))
            if made is not None:
                ui.navigate.to(address(PATHS["floor"], office=made.id))

        with kit.box("row end"):
            kit.button("Cancel", dialog.close)
            kit.button("Fork", fork, "main", "call_split", test="fork-make")
    dialog.on("hide", dialog.delete)
