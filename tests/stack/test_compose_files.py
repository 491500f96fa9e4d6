"""The Compose files: what they promise is read from them, and from what Compose itself makes of them."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.carriersettings import VARIABLES as CARRIERS
from orchestrator.stack import secretsfile, states
from services.sandbox import image as assistant
from tests.stack.ci_stack import FILES, ROOT
from tests.stack.playing import SERVICES

REAL, CI = FILES
SOCKET = "/var/run/docker.sock"
OWN = re.compile(r"officetown/[a-z-]+:\d+\.\d+\.\d+")


def needs_compose() -> None:
    """Skip where there is no Compose 2, unless it was promised."""
    if os.environ.get("OFFICETOWN_TEST_COMPOSE"):
        return
    if not shutil.which("docker") or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        pytest.skip("needs Docker Compose 2: .ci/compose.sh fetches it; OFFICETOWN_TEST_COMPOSE=1 makes this a failure")


@pytest.fixture
def env_file(tmp_path: Path) -> Path:
    """A file of secrets as `officetown up` makes it, each secret a canary."""
    path = tmp_path / "stack.env"
    secretsfile.complete(path, iter(f"canary{n}" for n in range(99)).__next__, lambda port: port, {})
    return path


def compose(files: tuple[Path, ...], env_file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    needs_compose()
    named = [word for file in files for word in ("-f", str(file))]
    environ = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "DOCKER_CONFIG")}
    return subprocess.run(
        ["docker", "compose", "--env-file", str(env_file), *named, "config", *words],
        capture_output=True,
        text=True,
        env=environ,
        cwd=ROOT,
    )


def resolved(files: tuple[Path, ...], env_file: Path) -> dict[str, Any]:
    done = compose(files, env_file, "--format", "json")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    return value


STACKS = pytest.mark.parametrize("files", [(REAL,), (REAL, CI)], ids=["real", "ci"])


@STACKS
def test_compose_finds_nothing_wrong_with_it(files: tuple[Path, ...], env_file: Path) -> None:
    done = compose(files, env_file, "-q")
    assert (done.returncode, done.stderr) == (0, "")


@STACKS
def test_without_its_secrets_it_says_what_to_run(files: tuple[Path, ...], tmp_path: Path) -> None:
    (tmp_path / "empty.env").write_text("")
    done = compose(files, tmp_path / "empty.env", "-q")
    assert done.returncode != 0 and "officetown up" in done.stderr


@STACKS
def test_nothing_is_published_beyond_the_loopback(files: tuple[Path, ...], env_file: Path) -> None:
    stack = resolved(files, env_file)
    published = [(name, port) for name, service in stack["services"].items() for port in service.get("ports", ())]
    assert {name for name, _ in published} == {"orchestrator", "rocketchat", "mailpit", "baikal"}
    for name, port in published:
        assert ipaddress.ip_address(port["host_ip"]).is_loopback, name
    assert sorted(int(port["published"]) for _, port in published) == sorted(secretsfile.PORTS.values())
    assert not any(service.get("network_mode") == "host" for service in stack["services"].values())


@STACKS
def test_only_the_proxy_has_the_engine_s_socket_and_it_has_no_network(files: tuple[Path, ...], env_file: Path) -> None:
    services = resolved(files, env_file)["services"]

    def mounts(name: str) -> list[str]:
        return [v.get("source", "") for v in services[name].get("volumes", ())]

    assert [name for name in services if any("docker.sock" in source for source in mounts(name))] == ["engineproxy"]
    assert services["engineproxy"]["network_mode"] == "none" and not services["engineproxy"].get("ports")
    assert sorted(n for n in services if "engine" in mounts(n)) == ["engineproxy", "orchestrator", "provision"]
    lent = [v for n in ("orchestrator", "provision") for v in services[n]["volumes"] if v["source"] == "engine"]
    assert all(v["read_only"] for v in lent)
    binds = {name: [v for v in service.get("volumes", ()) if v["type"] == "bind"] for name, service in services.items()}
    assert all(v.get("read_only") or name == "engineproxy" for name, found in binds.items() for v in found)


@STACKS
def test_every_part_is_held(files: tuple[Path, ...], env_file: Path) -> None:
    for name, service in resolved(files, env_file)["services"].items():
        assert service["cap_drop"] == ["ALL"] and service["security_opt"] == ["no-new-privileges:true"], name
        assert (
            not service.get("privileged")
            and not service.get("pid")
            and not service.get("ipc")
            and not service.get("devices")
        ), name
        assert set(service.get("cap_add") or ()) <= {
            "CHOWN",
            "DAC_OVERRIDE",
            "FOWNER",
            "NET_BIND_SERVICE",
            "SETGID",
            "SETUID",
        }, name
        assert int(service["mem_limit"]) > 0 and service["pids_limit"] > 0, name
        assert service["restart"] == ("no" if name in states.ONCE else "unless-stopped"), name
        assert service.get("read_only") or name in ("rocketchat", "mongodb", "baikal", "postgres"), name
        assert service.get("user") or name in ("rocketchat", "mongodb", "baikal", "postgres", "mailpit"), name


@STACKS
def test_every_part_has_a_health_check_and_is_waited_for(files: tuple[Path, ...], env_file: Path) -> None:
    services = resolved(files, env_file)["services"]
    for name, service in services.items():
        assert bool(service.get("healthcheck", {}).get("test")) != (name in states.ONCE), name
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] == ("service_completed_successfully" if other in states.ONCE else "service_healthy")
    waited = set(services["orchestrator"]["depends_on"]) | set(services.get("rocketchat", {}).get("depends_on", ()))
    assert waited == set(services) - {"orchestrator"}


@STACKS
def test_every_image_is_pinned(files: tuple[Path, ...], env_file: Path) -> None:
    for name, service in resolved(files, env_file)["services"].items():
        tag = service["image"].rpartition(":")[2]
        assert re.search(r"\d+\.\d+\.\d+|^\d+\.\d+-alpine$", tag) and "latest" not in tag, name
        assert OWN.fullmatch(service["image"]) or not service.get("build"), name


def test_in_ci_every_image_is_built_here(env_file: Path) -> None:
    services = resolved((REAL, CI), env_file)["services"]
    builders = {name: service["image"] for name, service in services.items() if service.get("build")}
    assert sorted(builders) == ["orchestrator", "postgres"], "each image once"
    for name, service in services.items():
        assert service["image"] in builders.values(), name
        assert service.get("pull_policy") == ("never" if name not in builders else service.get("pull_policy")), name
    assert set(services) == set(SERVICES) - {"mongodb"}


@STACKS
def test_the_databases_can_be_reached_by_who_has_business_with_them_alone(
    files: tuple[Path, ...], env_file: Path
) -> None:
    stack = resolved(files, env_file)
    on = {name: set(service.get("networks") or ()) for name, service in stack["services"].items()}
    assert {n for n, nets in on.items() if "database" in nets} == {"orchestrator", "provision", "postgres"}
    assert {n for n, nets in on.items() if "chatdata" in nets} <= {"rocketchat", "mongodb"}
    assert stack["networks"]["database"]["internal"] is True
    assert on["postgres"] == {"database"}
    assert not stack["networks"]["office"].get("internal"), "Rocket.Chat stops taking messages without the internet"
    assert "office" in on["rocketchat"]


def test_no_secret_stands_in_a_file(env_file: Path) -> None:
    """Each is asked for by name, and everything that is asked for is made."""
    text = REAL.read_text() + CI.read_text()
    needed = set(re.findall(r"\$\{([A-Z_]+):\?", text))
    assert needed == set(secretsfile.SECRETS)
    assert not re.search(r"(PASSWORD|SECRET|KEY|PASS)\w*: +(?!\$\{)\S", text)
    defaults = dict(re.findall(r"\$\{(OFFICETOWN_[A-Z]+_PORT):-(\d+)\}", text))
    assert {name: int(port) for name, port in defaults.items()} == secretsfile.PORTS
    assert f"${{{secretsfile.SOCKET}:-{SOCKET}}}" in text


@STACKS
def test_each_secret_goes_to_who_needs_it(files: tuple[Path, ...], env_file: Path) -> None:
    known = secretsfile.read(env_file)
    office = {"orchestrator", "provision"}
    wanted = {
        "POSTGRES_PASSWORD": office | {"postgres"}, "CHAT_ADMIN_PASSWORD": office | {"rocketchat"},
        "BAIKAL_ADMIN_PASSWORD": {"baikal"}, "BAIKAL_ENCRYPTION_KEY": {"baikal"}, "OFFICETOWN_PEOPLE_SECRET": office,
    }  # fmt: skip
    services = resolved(files, env_file)["services"]
    for name, who in wanted.items():
        found = {n for n, service in services.items() if known[name] in json.dumps(service)}
        assert found <= who and (files != (REAL,) or found == who), name


def test_the_office_is_told_of_every_server(env_file: Path) -> None:
    services = resolved((REAL,), env_file)["services"]
    said = services["orchestrator"]["environment"]
    assert set(CARRIERS) - set(said) == {"OFFICETOWN_POLL_SECONDS"}
    assert services["provision"]["environment"] == said


def test_traps_of_the_servers_are_kept_out_of(env_file: Path) -> None:
    services = resolved((REAL,), env_file)["services"]
    chat, mail = services["rocketchat"]["environment"], services["mailpit"]["environment"]
    assert "RC_DISABLE_STATISTICS_REPORTING" not in chat, "without it the workspace becomes restricted"
    assert json.loads(chat["OVERWRITE_SETTING_Message_CustomFields"])["properties"].keys() == {
        "office",
        "event",
        "part",
        "sim_ts",
    }
    assert (
        chat["MONGO_URL"].endswith("?replicaSet=rs0")
        and 'host: "mongodb:27017"' in services["mongodb"]["healthcheck"]["test"][-1]
    )
    assert mail["MP_MAX_MESSAGES"] == "0" and mail["MP_USE_MESSAGE_DATES"] == "true"
    assert "curl" not in json.dumps(services["rocketchat"]["healthcheck"]), "there is none in its image"


def test_the_orchestrator_s_image_has_what_the_assistants_image_is_named_after() -> None:
    """The docker sandbox looks for its image by a name made from these files."""
    text = (ROOT / "services/images/orchestrator/Dockerfile").read_text()
    copied = [source for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M) for source in line.split()]
    for path in assistant.INPUTS:
        assert any(path == source or path.startswith(f"{source}/") for source in copied), path
    ignored = (ROOT / "services/images/orchestrator/Dockerfile.dockerignore").read_text().splitlines()
    for source in copied:
        assert f"!{source}" in ignored, source


def test_both_dockerfiles_stand_on_the_same_base() -> None:
    bases = {
        re.search(r"^ARG BASE_IMAGE=(\S+)", (ROOT / f"services/images/{name}/Dockerfile").read_text(), re.M)[1]  # type: ignore[index]
        for name in ("assistant", "orchestrator", "ci")
    }
    assert len(bases) == 1 and f"${{OFFICETOWN_BASE_IMAGE:-{bases.pop()}}}" in REAL.read_text()


def test_the_real_file_is_plain_yaml_with_the_parts_that_are_known() -> None:
    value = yaml.safe_load(REAL.read_text())
    assert sorted(value["services"]) == sorted(SERVICES)
