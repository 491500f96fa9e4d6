"""`officetown up` and `down`, on a machine that is played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.output import Out
from orchestrator.stack.bringing import down, plain_step, up
from orchestrator.stack.programs import TOO_LONG, Ran
from orchestrator.stack.stack import here
from simulator.errors import InfrastructureError, UsageError
from tests.stack.playing import Played, all_ready, checkout, container, stack_on


def test_up_makes_the_secrets_builds_starts_and_says_where_to_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Played()
    run.on(
        " up ",
        " Container officetown-postgres-1  Waiting\n Container officetown-postgres-1  Healthy\n Container officetown-provision-1  Exited\n",
    )
    up(stack_on(tmp_path, run), Out())
    said = capsys.readouterr().out
    assert "postgres is ready" in said and "provision has done its work" in said and "Waiting" not in said
    assert "http://localhost:3000" in said and "sign in as office" in said and "localhost:1025" in said
    secrets = [
        line.partition("=")[2]
        for line in (tmp_path / ".env").read_text().splitlines()
        if "secret" in line.partition("=")[2]
    ]
    assert len(secrets) == 6 and not any(s in said for s in secrets), "no secret is shown"
    (started,) = run.commands(" up ")
    assert {"--detach", "--wait", "--build"} <= set(started) and str(tmp_path / ".env") in started
    assert run.asked.index(run.commands("services.sandbox.image")[0]) < run.asked.index(started)


def test_with_json_the_last_line_is_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    up(stack_on(tmp_path, Played()), Out(json=True))
    assert json.loads(capsys.readouterr().out)["addresses"]["mail"] == "http://localhost:8025"


def test_up_again_keeps_the_secrets_and_the_ports_that_it_holds_itself(tmp_path: Path) -> None:
    run = Played()
    up(stack_on(tmp_path, run), Out(quiet=True))
    before = (tmp_path / ".env").read_text()
    run.on(
        "ps --all",
        "\n".join(container(s, port=p) for s, p in (("rocketchat", 3000), ("mailpit", 8025), ("baikal", 8080))),
    )
    up(stack_on(tmp_path, run, taken=(3000, 8025, 8080)), Out(quiet=True))
    assert (tmp_path / ".env").read_text() == before


def test_the_first_time_a_taken_port_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    up(stack_on(tmp_path, Played(), taken=(3000,)), Out())
    assert "http://localhost:3001" in capsys.readouterr().out


def test_later_a_taken_port_is_told_with_who_has_it(tmp_path: Path) -> None:
    run = Played()
    up(stack_on(tmp_path, run), Out(quiet=True))
    run.asked.clear()
    with pytest.raises(InfrastructureError) as fault:
        up(
            stack_on(tmp_path, run, (3000, 1025), lambda port: "node (process 7)" if port == 3000 else ""),
            Out(quiet=True),
        )
    assert "Port 3000 is taken by node (process 7). Stop that, or write another port as OFFICETOWN_CHAT_PORT" in str(
        fault.value
    )
    assert "Port 1025 is taken. Stop that" in str(fault.value)
    assert run.commands(" up ") == []


@pytest.mark.parametrize("act", [up, down])
def test_without_an_engine_nothing_is_begun(tmp_path: Path, act: object) -> None:
    run = Played()
    run.absent()
    with pytest.raises(InfrastructureError, match="no `docker` command"):
        act(stack_on(tmp_path, run), Out(quiet=True))  # type: ignore[operator]
    assert not (tmp_path / ".env").exists()


def test_what_does_not_become_ready_is_told_part_by_part_with_its_last_words(tmp_path: Path) -> None:
    run = Played()
    run.on(" up ", "container officetown-mongodb-1 is unhealthy", code=1)
    lines = [
        container("mongodb", "running", "unhealthy"),
        container("rocketchat", "created", ""),
        container("postgres"),
    ]
    run.on("ps --all", "\n".join(lines))
    run.on("logs", lambda words: Ran(0, "no replset config has been received\n" if words[-1] == "mongodb" else ""))
    with pytest.raises(InfrastructureError) as fault:
        up(stack_on(tmp_path, run), Out(quiet=True))
    said = str(fault.value)
    assert "mongodb runs, but does not answer" in said and "replica set is not initiated" in said
    assert (
        "rocketchat waits for another part" in said and "mailpit has not been made" in said and "postgres" not in said
    )
    assert fault.value.exit_code == 4


@pytest.mark.parametrize("code", [1, TOO_LONG])
def test_what_compose_alone_knows_is_passed_on(tmp_path: Path, code: int) -> None:
    run = Played()
    run.on(" up ", "manifest for rocketchat/rocket.chat:8.8.1 not found\n", code=code)
    with pytest.raises(InfrastructureError, match="Compose said: manifest for"):
        up(stack_on(tmp_path, run), Out(quiet=True))


def test_an_assistants_image_that_cannot_be_built_is_told(tmp_path: Path) -> None:
    run = Played()
    run.on("services.sandbox.image build", code=4, err="The sandbox's image could not be built: no space left\n")
    with pytest.raises(
        InfrastructureError, match="assistants' image could not be built. The sandbox's image .* no space left"
    ):
        up(stack_on(tmp_path, run), Out(quiet=True))
    assert run.commands(" up ") == []


def test_lost_secrets_of_a_stack_that_still_has_data_are_not_made_anew(tmp_path: Path) -> None:
    run = Played()
    run.on("docker volume ls", "officetown_database\nofficetown_office\n")
    with pytest.raises(UsageError, match=r"Put the file back, or begin anew: docker volume rm officetown_database"):
        up(stack_on(tmp_path, run), Out(quiet=True))
    assert not (tmp_path / ".env").exists()


def test_an_engine_elsewhere_is_refused(tmp_path: Path) -> None:
    run = Played()
    run.on("docker context inspect", "ssh://there")
    with pytest.raises(InfrastructureError, match="at ssh://there"):
        up(stack_on(tmp_path, run), Out(quiet=True))


def test_the_socket_of_an_engine_without_root_is_lent(tmp_path: Path) -> None:
    run = Played()
    run.on("docker context inspect", "unix:///run/user/1000/docker.sock")
    up(stack_on(tmp_path, run), Out(quiet=True))
    assert "OFFICETOWN_ENGINE_SOCKET=/run/user/1000/docker.sock\n" in (tmp_path / ".env").read_text()


@pytest.mark.parametrize("volumes", [False, True])
def test_down_keeps_what_was_kept_unless_told(
    tmp_path: Path, volumes: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Played()
    up(stack_on(tmp_path, run), Out(quiet=True))
    down(stack_on(tmp_path, run), Out(json=True), volumes)
    (asked,) = run.commands(" down")
    assert ("--volumes" in asked) is volumes
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"down": True, "volumes": volumes}
    assert (tmp_path / ".env").exists()


def test_down_where_nothing_is_up_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no stack was brought up from here"):
        down(stack_on(tmp_path, Played()), Out(quiet=True))


def test_down_that_fails_is_told(tmp_path: Path) -> None:
    run = Played()
    up(stack_on(tmp_path, run), Out(quiet=True))
    run.on(" down", code=1, err="volume is in use")
    with pytest.raises(InfrastructureError, match="volume is in use"):
        down(stack_on(tmp_path, run), Out(quiet=True))


def test_an_installed_package_has_no_stack_and_says_so(tmp_path: Path) -> None:
    checkout(tmp_path)
    (tmp_path / "docker-compose.yml").unlink()
    with pytest.raises(
        UsageError, match="brought up from a checkout of OfficeTown, and .*docker-compose.yml is not there"
    ):
        here({}, None, tmp_path)


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        (" Container officetown-rocketchat-1  Healthy", "rocketchat is ready"),
        (" Container officetown-rocketchat-1  Error", "rocketchat has failed"),
        (" Container officetown-rocketchat-1  Waiting", ""),
        (" rocketchat Pulling ", "rocketchat: its image is being fetched"),
        (" rocketchat Pulled ", "rocketchat: its image is here"),
        (" a8b1c5f80c2d Extracting [=>  ] 1MB/2MB", ""),
        ("#12 [build 3/4] RUN pip install", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_compose_s_progress_is_said_plainly(line: str, plain: str) -> None:
    assert plain_step(line, "officetown") == plain


def test_every_part_of_a_stack_that_is_up_is_ready(tmp_path: Path) -> None:
    run = Played()
    run.on("ps --all", "\n".join(all_ready()))
    assert stack_on(tmp_path, run).unready() == ()
