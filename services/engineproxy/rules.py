"""Which requests exist for the office: everything that is not in this table is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from services.engineproxy.wire import Refused, Request

Kind = Literal[
    "plain", "info", "image", "images", "create", "list", "container", "attach", "exec", "exec start", "exec inspect"
]

_NAME = r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]{0,127})"
_JOB = r"(?P<job>[0-9a-f]{64})"
_FLAG = r"0|1|true|false|True|False"
_NO = r"0|false|False"
_NUMBER = r"-?[0-9]{1,9}"


@dataclass(frozen=True)
class Rule:
    """One kind of request: its `methods`, its path, and the parameters it may have with what they may be."""

    methods: frozenset[str]
    path: re.Pattern[str]
    kind: Kind
    query: Mapping[str, str] = field(default_factory=dict)
    body: bool = False


def _rule(methods: str, path: str, kind: Kind, body: bool = False, **query: str) -> Rule:
    return Rule(frozenset(methods.split()), re.compile(path), kind, query, body)


RULES = (
    _rule("GET HEAD", r"/_ping", "plain"),
    _rule("GET", r"/version", "plain"),
    _rule("GET", r"/info", "info"),
    _rule("GET", r"/images/(?P<image>[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,255})/json", "image"),
    _rule("GET", r"/images/json", "images", only_ids=_FLAG, all=_FLAG, filters=r".{0,2000}"),
    _rule("POST", r"/containers/create", "create", body=True, name=r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"),
    _rule("GET", r"/containers/json", "list", all=_FLAG, limit=_NUMBER, size=_NO, trunc_cmd=_FLAG, filters=r".{0,2000}"),
    _rule("GET", rf"/containers/{_NAME}/json", "container", size=_NO),
    _rule("POST", rf"/containers/{_NAME}/start", "container"),
    _rule("POST", rf"/containers/{_NAME}/stop", "container", t=_NUMBER),
    _rule("POST", rf"/containers/{_NAME}/kill", "container", signal=r"[A-Z0-9]{1,16}"),
    _rule("POST", rf"/containers/{_NAME}/wait", "container", condition=r"not-running|next-exit|removed"),
    _rule("GET", rf"/containers/{_NAME}/logs", "container", stdout=_FLAG, stderr=_FLAG, timestamps=_FLAG, follow=_FLAG,
          tail=r"all|[0-9]{1,9}", since=_NUMBER, until=_NUMBER),
    _rule("DELETE", rf"/containers/{_NAME}", "container", v=_FLAG, force=_FLAG, link=_NO),
    _rule("POST", rf"/containers/{_NAME}/attach", "attach", stdin=_FLAG, stdout=_FLAG, stderr=_FLAG, stream=_FLAG, logs=_NO),
    _rule("POST", rf"/containers/{_NAME}/exec", "exec", body=True),
    _rule("POST", rf"/exec/{_JOB}/start", "exec start", body=True),
    _rule("GET", rf"/exec/{_JOB}/json", "exec inspect"),
)  # fmt: skip


def find(request: Request) -> tuple[Rule, dict[str, str]]:
    """Return the rule that a request falls under and the names in its path. Raises Refused where there is none."""
    for rule in RULES:
        found = rule.path.fullmatch(request.path)
        if found is None or request.method not in rule.methods:
            continue
        for name, value in request.query.items():
            if name not in rule.query:
                raise Refused(f"The parameter {name[:60]!r} is not allowed here.")
            if not re.fullmatch(rule.query[name], value, re.S):
                raise Refused(f"The parameter {name} may not be that.")
        return rule, found.groupdict()
    raise Refused("Nothing but sandboxes may be asked of the engine from here.")
