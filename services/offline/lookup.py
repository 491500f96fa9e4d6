"""A look-up beside the conversation: reads a little, ends with a conclusion of a sentence or two."""

from __future__ import annotations

import re

from services.offline.heard import Heard
from services.offline.questions import figure_asked
from services.offline.reviewer import Opened, figure_file, figures_of
from services.offline.script import Ask, Script, ask, call
from services.offline.worklore import PERIOD, accepted, places, stem

_QUESTION = re.compile(r"^Question: (.+)", re.MULTILINE | re.DOTALL)


def look(me: Heard) -> Script:
    """Answer the question of a look-up: from an accepted file where a figure is asked for, else by search."""
    found = _QUESTION.search(me.prompt)
    question = found[1].strip() if found else me.prompt[-400:]
    asked, periods = figure_asked(question), PERIOD.findall(question)
    if asked is not None:
        kind, label = asked
        (listed,) = yield ask(call("list_files", folder=stem(figure_file(kind))))
        fitting = [
            w for w, row in places(listed) if w.file == figure_file(kind) and accepted(row) and w.matter in question
        ]
        fitting = [w for w in fitting if not periods or w.period == periods[0]] or fitting
        if fitting:
            best = max(fitting, key=lambda where: where.period)
            (opened,) = yield ask(call("open_file", file=best.text))
            value = figures_of(kind, Opened(best.text, str(opened.get("text", "")))).get(label)
            if value is not None:
                yield _end(f"{label} is {value} in the accepted {best.file} of {best.period}, version {best.version}.")
                return
    words = [w for w in re.findall(r"[\w-]{4,}", question) if w.casefold() not in _COMMON][:3]
    (hits,) = yield ask(call("search", words=" ".join(words)))
    shown = [f"{h.get('title', '')} ({h.get('at', '')})" for h in hits.get("hits", ())[:3]]
    yield _end(f"The record names: {'; '.join(shown)}." if shown else "Nothing in the record answers that.")


_COMMON = frozenset({"what", "does", "where", "when", "which", "with", "from", "that", "this", "have", "about"})


def _end(text: str) -> Ask:
    return ask(call("finish", summary=text))
