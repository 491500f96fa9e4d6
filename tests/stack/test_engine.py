"""What stands in the way of the stack is said in plain words: which program, which version, whose permission."""

from __future__ import annotations

import json

import pytest

from orchestrator.stack import engine
from orchestrator.stack.programs import MISSING, TOO_LONG, Ran
from tests.stack.playing import Played


def server(**changes: object) -> Ran:
    return Ran(0, json.dumps({"Server": {"Version": "20.10.24", "ApiVersion": "1.41", "Os": "linux"} | changes}))


def test_a_machine_that_can_says_who_it_is() -> None:
    assert engine.look(Played()) == engine.Able("", "28.2.2", "2.39.1", "/var/run/docker.sock")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (Ran(MISSING, err="docker: there is no such program"), "no `docker` command here. Install"),
        (Ran(1, '{"Client":{},"Server":null}', "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker "
         "daemon running?"), "No container engine runs here. Start it"),
        (Ran(1, '{"Client":{},"Server":null}', "permission denied while trying to connect to the Docker daemon socket"),
         "may not use the container engine. Add the user to its group"),
        (Ran(1, "", "Got permission denied while trying"), "usermod -aG docker"),
        (Ran(TOO_LONG), "does not answer"),
        (Ran(0, "not json"), "No container engine runs here"),
        (server(ApiVersion="1.40", Version="19.03.1"), "too old: version 19.03.1 speaks 1.40"),
        (server(Os="windows"), "runs windows containers"),
    ],
)  # fmt: skip
def test_an_engine_that_cannot_is_named_with_what_to_do(said: Ran, words: str) -> None:
    version, fault = engine.judge_engine(said)
    assert version == "" and words in fault and fault[0].isupper()


def test_the_oldest_engine_that_will_do_does() -> None:
    assert engine.judge_engine(server()) == ("20.10.24", "")
    assert engine.judge_engine(server(ApiVersion="1.100", Version="99"))[1] == ""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (Ran(1, "", "docker: 'compose' is not a docker command."), "no Compose plugin. Install it"),
        (Ran(1, "", "docker: unknown command: docker compose"), ".ci/compose.sh"),
        (Ran(0, "2.17.2\n"), "2.17.2 is too old: 2.24 or later"),
        (Ran(0, "v1.29.2"), "1.29.2 is too old"),
        (Ran(0, ""), "no Compose plugin"),
    ],
)  # fmt: skip
def test_so_is_a_compose_that_cannot(said: Ran, words: str) -> None:
    version, fault = engine.judge_compose(said)
    assert version == "" and words in fault


@pytest.mark.parametrize("said", ["2.24.0", "v2.26.1-4", "5.0.0", "2.100.1"])
def test_versions_compare_as_numbers(said: str) -> None:
    assert engine.judge_compose(Ran(0, said))[1] == ""


@pytest.mark.parametrize(
    ("where", "path"),
    [("unix:///var/run/docker.sock", "/var/run/docker.sock"), ("unix:///run/user/1000/docker.sock", "/run/user/1000/docker.sock"),
     ("unix:///home/me/.docker/run/docker.sock", "/var/run/docker.sock"), ("", "/var/run/docker.sock")],
)  # fmt: skip
def test_the_engine_s_socket_is_found(where: str, path: str) -> None:
    assert engine.judge_endpoint(Ran(0, where + "\n")) == (path, "")


@pytest.mark.parametrize("where", ["tcp://10.0.0.1:2376", "ssh://somebody@there", "npipe:////./pipe/docker_engine"])
def test_an_engine_elsewhere_cannot_be_lent(where: str) -> None:
    assert where in engine.judge_endpoint(Ran(0, where))[1]


def test_the_first_thing_that_is_missing_is_the_one_that_is_told() -> None:
    run = Played()
    run.absent()
    assert "no `docker` command" in engine.look(run).fault
    assert run.asked == [list(engine.VERSION)]
