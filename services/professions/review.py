"""The offline reviewer's eye: recomputes from the inputs and compares with what the deliverables say, as rendered text.

Nothing the assistant reports is believed. What is allowed to differ: the order of rows and sheets, the names of sheets
other than `Summary`, the wording of descriptions, further columns, and formulas that no program has calculated yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from services.professions import review_prose, review_tables
from services.professions.base import Deliverable, Inputs, Others, Profession
from services.professions.faults import RANK, Case, Fault
from services.professions.views import PriorView

_UNREADABLE = ("[empty file]", "[this file cannot be read", "[this file has ")


def review(
    profession: Profession,
    period: str,
    inputs_text: Inputs,
    prior_view: PriorView | None,
    others_views: Others,
    deliverables_rendered: Mapping[str, str],
) -> list[Fault]:
    """Return the faults of a submission, worst first; an empty list means that nothing was found.

    `inputs_text` maps input names to CSV text, `deliverables_rendered` file names to the text that `Renderer.render`
    gives. Raises `UsageError` when the inputs themselves are malformed.
    """
    outcome = profession.compute(period, inputs_text, prior_view, others_views)
    alone = profession.compute(period, inputs_text, None, others_views).figures if prior_view is not None else {}
    case = Case(profession, period, outcome, alone)
    faults: list[Fault] = []
    for deliverable in profession.deliverables:
        text = deliverables_rendered.get(deliverable.name)
        lacking = _lacking(deliverable, text)
        if lacking:
            faults.append(Fault("high", deliverable.name, "", lacking, "supplement"))
        elif text is not None:
            look = review_prose.faults if deliverable.prose else review_tables.faults
            faults += look(case, deliverable, text)
    order = [deliverable.name for deliverable in profession.deliverables]
    return sorted(dict.fromkeys(faults), key=lambda fault: (RANK[fault.severity], order.index(fault.file)))


def _lacking(deliverable: Deliverable, text: str | None) -> str:
    """Return why a deliverable is not there to be read, or an empty text."""
    if text is None:
        return "the deliverable is missing; write it and submit it with the others"
    bare = text.strip()
    if not bare or bare.startswith(_UNREADABLE):
        reason = bare.strip("[]") or "it holds nothing"
        return f"the deliverable cannot be used ({reason}); write it again"
    return ""
