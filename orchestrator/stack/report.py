"""The stack's part of `officetown doctor`: what is not ready and why."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchestrator.stack import engine, secretsfile
from orchestrator.stack.bringing import addresses, taken
from orchestrator.stack.stack import Stack, here
from simulator.errors import OfficeTownError, UsageError


class Finding(msgspec.Struct, frozen=True):
    """One line of the doctor's. `fault` tells whether something has to be done about it."""

    text: str
    fault: bool = False


def findings(environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """Say how this checkout's stack is; nothing where OfficeTown does not run from a checkout, as inside the stack."""
    try:
        stack = here(environ)
    except UsageError:
        return ()
    return examine(stack)


def examine(stack: Stack) -> tuple[Finding, ...]:
    """Say how the stack is. One that was never brought up is no fault: OfficeTown works without."""
    if not stack.environment.exists():
        able = engine.look(stack.machine.run)
        could = "`officetown up` would bring it up" if not able.fault else able.fault
        return (Finding(f"not brought up. {could}"),)
    able = engine.look(stack.machine.run)
    if able.fault:
        return (Finding(able.fault, True),)
    findings = [Finding(f"engine {able.engine}, Compose {able.compose}")]
    try:
        known = secretsfile.read(stack.environment)
        secretsfile.ports_of(known, stack.environment)
    except OfficeTownError as fault:
        return (*findings, Finding(str(fault), True))
    if stack.environment.stat().st_mode & 0o077:
        findings.append(Finding(f"{stack.environment} can be read by others: chmod 600 {stack.environment}", True))
    absent = [name for name in secretsfile.SECRETS if not known.get(name)]
    if absent:
        text = f"{stack.environment} lacks {', '.join(absent)}; `officetown up` makes what is missing"
        return (*findings, Finding(text, True))
    parts = stack.parts()
    if not parts:
        blocked = [Finding(text, True) for text in taken(stack, known, set())]
        return (*findings, *blocked, Finding("down; `officetown up` brings it up"))
    findings.extend(Finding(text, True) for text in stack.unready())
    if not any(f.fault for f in findings):
        where = ", ".join(f"{what} {place}" for what, place in addresses(known).items())
        findings.append(Finding(f"all {len(parts)} parts are ready: {where}"))
    return tuple(findings)
