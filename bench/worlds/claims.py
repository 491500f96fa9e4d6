"""What an agent says it found, held against what it called and saw.

Not called, called but empty, and called and seen are three different things. The reading is by words: a sentence that
asserts something of a subject only one tool could have told, while that tool was never called, is a claim from nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from bench.worlds.faults import known_words
from bench.worlds.model import Claim, ClaimStatus, Environment, Step, Tool
from bench.worlds.pointers import leaves

_WORDS = re.compile(r"[a-z]{3,}")
_SENTENCE = re.compile(r"[^.!?\n;]+(?:\.\d[^.!?\n;]*)*")
_NO_CLAIM = re.compile(
    r"(?i)\b(not|never|no|without|unable|cannot|can't|couldn't|didn't|wasn't|isn't|unknown|unverified|failed|should|would|"
    r"could|recommend\w*|please|next|will|need\w*|must|unless|pending|if)\b"
)
_VERBS = frozenset(["get", "fetch", "list", "query", "check", "read", "search", "show", "find", "lookup", "retrieve"])
_PLAIN = frozenset(
    [
        "status",
        "result",
        "results",
        "data",
        "report",
        "name",
        "type",
        "time",
        "date",
        "value",
        "info",
        "message",
        "code",
    ]
    + [
        "details",
        "summary",
        "error",
        "success",
        "total",
        "count",
        "list",
        "item",
        "items",
        "current",
        "level",
        "timestamp",
    ]
    + [
        "description",
        "description",
        "state",
        "system",
        "update",
        "updated",
        "note",
        "notes",
        "reason",
        "active",
        "true",
    ]
    + [
        "false",
        "available",
        "required",
        "action",
        "target",
        "number",
        "unit",
        "units",
        "confirmation",
        "record",
        "records",
    ]
)
_LONG_TEXT = 40


def status_of(tool: str, steps: Iterable[Step]) -> ClaimStatus:
    """Return whether a tool was called, and whether it ever showed the agent anything."""
    calls = [step for step in steps if step.tool == tool and step.status in ("answered", "faulted")]
    if not calls:
        return "not_called"
    seen = any(step.status == "answered" and not step.error and not step.empty for step in calls)
    return "called_and_seen" if seen else "called_but_empty"


def claims_of(environment: Environment, steps: Sequence[Step], final: str) -> tuple[Claim, ...]:
    """Return a claim for each tool whose subject the agent's words assert, with how that stands to its calls.

    Its words are `final` and the longer texts it sent to tools. Tools called and seen are claims too where named.
    """
    said = _said(steps, final)
    if not said:
        return ()
    heard = _heard(environment, steps)
    found = []
    for tool in environment.tools:
        status = status_of(tool.name, steps)
        words = subject(tool) if status == "called_and_seen" else subject(tool) - heard
        sentence = next((one for one in said if _asserts(one, words, tool)), None)
        if sentence is not None:
            found.append(Claim(tool.name, status, sentence[:300]))
    return tuple(found)


def _said(steps: Sequence[Step], final: str) -> list[str]:
    texts = [final]
    for step in steps:
        for _, value in leaves(step.arguments):
            if isinstance(value, str) and len(value) > _LONG_TEXT:
                texts.append(value)
    sentences = [found.strip() for text in texts for found in _SENTENCE.findall(text)]
    return [one for one in sentences if one and not _NO_CLAIM.search(one)]


def _heard(environment: Environment, steps: Sequence[Step]) -> set[str]:
    """Return the words that the agent was told by tools that answered, that it gave them, and of their own subjects."""
    heard: set[str] = set()
    for step in steps:
        tool = environment.tool(step.tool)
        if step.status != "answered" or tool is None or step.error or step.empty:
            continue
        texts = known_words(step.observation) | {
            text for text in known_words(step.arguments) if len(text) <= _LONG_TEXT
        }
        heard |= subject(tool) | {word for text in texts for word in _WORDS.findall(text.lower())}
    return heard


def subject(tool: Tool) -> set[str]:
    """Return the words a tool's answers are about: its output's keys, and its name without the verb."""
    keys = {part for path, _ in leaves(tool.example_output) for part in path if not part.isdigit()}
    words = {word for key in keys for word in _WORDS.findall(key.lower())} | set(_nouns(tool))
    return {word for word in words if len(word) > 3 and word not in _PLAIN}


def _nouns(tool: Tool) -> list[str]:
    parts = _WORDS.findall(tool.name.lower())
    return [part for part in parts[1:] if part not in _PLAIN and part not in _VERBS]


def concerns(text: str, tool: Tool) -> bool:
    """Whether a rubric names a tool or a word of its subject."""
    return tool.name in text or bool(subject(tool) & set(_WORDS.findall(text.lower())))


def _asserts(sentence: str, words: set[str], tool: Tool) -> bool:
    """Whether a sentence names one of the answer's own words, or all nouns of the tool's name."""
    said = set(_WORDS.findall(sentence.lower()))
    nouns = set(_nouns(tool))
    output = words - nouns
    if output & said:
        return True
    return len(nouns) > 1 and nouns <= said and bool(nouns & words)


def table(environment: Environment, steps: Sequence[Step], claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Return the reconciliation as rows for judges and reports: every tool, how often, what came of it, what is said."""
    rows = []
    for tool in environment.tools:
        mine = [step for step in steps if step.tool == tool.name]
        said = [claim.text for claim in claims if claim.tool == tool.name]
        rows.append({"tool": tool.name, "calls": len(mine), "status": status_of(tool.name, steps), "said": said})
    return rows
