"""The stack's part of the doctor's report."""

from __future__ import annotations

from pathlib import Path

from orchestrator.output import Out
from orchestrator.stack.bringing import up
from orchestrator.stack.programs import Ran
from orchestrator.stack.report import examine
from orchestrator.stack.stack import Stack
from tests.stack.playing import Played, all_ready, container, stack_on


def told(stack: Stack) -> tuple[str, list[str]]:
    """All that is said, and what of it is a fault."""
    findings = examine(stack)
    return "\n".join(f.text for f in findings), [f.text for f in findings if f.fault]


def brought_up(folder: Path, run: Played) -> Stack:
    stack = stack_on(folder, run)
    up(stack, Out(quiet=True))
    return stack


def test_one_that_was_never_brought_up_is_no_fault(tmp_path: Path) -> None:
    run = Played()
    assert told(stack_on(tmp_path, run)) == ("not brought up. `officetown up` would bring it up", [])
    run.absent()
    said, faults = told(stack_on(tmp_path, run))
    assert "no `docker` command" in said and faults == []


def test_one_that_is_up_is_said_to_be_and_where(tmp_path: Path) -> None:
    run = Played()
    stack = brought_up(tmp_path, run)
    run.on("ps --all", "\n".join(all_ready()))
    said, faults = told(stack)
    assert faults == [] and "all 8 parts are ready: dashboard http://localhost:8321, chat http://localhost:3000" in said and "Compose 2.39.1" in said


def test_an_engine_that_went_away_is_a_fault(tmp_path: Path) -> None:
    run = Played()
    stack = brought_up(tmp_path, run)
    run.on("docker version", '{"Server":null}', code=1, err="Cannot connect to the Docker daemon")
    said, faults = told(stack)
    assert faults == [said] and "No container engine runs here" in said


def test_each_part_that_is_not_ready_is_a_fault_with_its_reason(tmp_path: Path) -> None:
    run = Played()
    stack = brought_up(tmp_path, run)
    lines = [line for line in all_ready() if '"rocketchat"' not in line]
    run.on("ps --all", "\n".join([*lines, container("rocketchat", "running", "unhealthy")]))
    run.on("logs", lambda words: Ran(0, "restricted-workspace\n"))
    said, faults = told(stack)
    assert len(faults) == 1 and "The workspace is restricted" in faults[0] and "all 8" not in said


def test_one_that_is_down_says_so_and_who_has_its_ports(tmp_path: Path) -> None:
    run = Played()
    brought_up(tmp_path, run)
    assert told(stack_on(tmp_path, run))[1] == []
    said, faults = told(stack_on(tmp_path, run, (8025,), lambda port: "apache2 (process 9)"))
    assert (
        "down; `officetown up` brings it up" in said
        and len(faults) == 1
        and "8025 is taken by apache2 (process 9)" in faults[0]
    )


def test_secrets_that_others_can_read_or_that_are_missing_are_faults(tmp_path: Path) -> None:
    run = Played()
    stack = brought_up(tmp_path, run)
    run.on("ps --all", "\n".join(all_ready()))
    stack.environment.chmod(0o644)
    assert "can be read by others: chmod 600" in told(stack)[1][0]
    stack.environment.chmod(0o600)
    stack.environment.write_text("POSTGRES_PASSWORD=x\n")
    assert "lacks CHAT_ADMIN_PASSWORD" in told(stack)[1][0]
    stack.environment.write_text("nonsense\n")
    assert "write NAME=VALUE" in told(stack)[1][0]


def test_no_secret_is_told(tmp_path: Path) -> None:
    run = Played()
    stack = brought_up(tmp_path, run)
    run.on("ps --all", "\n".join(all_ready()))
    assert not any("secret" in f.text for f in examine(stack))
