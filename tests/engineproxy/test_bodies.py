"""What a container of the office's may be: the sandbox's own shape, and nothing that reaches the machine."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.engineproxy import bodies
from services.engineproxy.wire import Refused
from tests.engineproxy.support import DIGEST, LABEL, POLICY, good

HOST: dict[str, list[Any]] = {
    "Binds": [["/:/host"], ["/var/run/docker.sock:/s"], ["named:/x"], "/:/x", {"a": 1}],
    "Mounts": [[{"Type": "bind", "Source": "/", "Target": "/x"}], [{"Type": "volume", "Source": "office", "Target": "/x"}]],
    "Privileged": [True, 1, "true"],
    "CapAdd": [["SYS_ADMIN"], ["ALL"], "ALL"],
    "CapDrop": [None, [], ["NET_RAW"], ["ALL", "NET_RAW"], "ALL", [["ALL"]]],
    "SecurityOpt": [None, [], ["seccomp=unconfined"], ["no-new-privileges:true", "apparmor=unconfined"],
                    ["no-new-privileges:false"], ["no-new-privileges:true", "label=disable"], "no-new-privileges"],
    "NetworkMode": [None, "", "host", "bridge", "default", "container:x", "None"],
    "PidMode": ["host", "container:x"],
    "IpcMode": ["host", "shareable", "container:x"],
    "UTSMode": ["host"],
    "UsernsMode": ["host"],
    "CgroupnsMode": ["host"],
    "CgroupParent": ["/", "system.slice"],
    "Cgroup": ["container:x"],
    "Devices": [[{"PathOnHost": "/dev/sda", "PathInContainer": "/dev/sda", "CgroupPermissions": "rwm"}]],
    "DeviceRequests": [[{"Driver": "nvidia", "Count": -1}]],
    "DeviceCgroupRules": [["a *:* rwm"]],
    "ReadonlyRootfs": [None, False, 0, 1, "true"],
    "MaskedPaths": [[], ["/proc/kcore"]],
    "ReadonlyPaths": [[], ["/proc/sys"]],
    "Sysctls": [{"net.ipv4.ip_forward": "1"}],
    "VolumesFrom": [["orchestrator"]],
    "Links": [["db:db"]],
    "Runtime": ["runc", "nvidia"],
    "OomKillDisable": [True],
    "OomScoreAdj": [-1000, 1001],
    "Memory": [None, 0, -1, 1, 64 << 30, "2g", True, 2.5],
    "MemorySwap": [-1, 1 << 20, 64 << 30],
    "PidsLimit": [None, 0, -1, 10**6, True],
    "CpuQuota": [10**9, "1"],
    "NanoCpus": [10**12, -1],
    "ShmSize": [1 << 40],
    "Tmpfs": [{"/proc": "size=1m"}, {"/etc": "size=1m"}, {"/tmp/../proc": "size=1m"}, {"/": "size=1m"}, {"/tmp": ""},
              {"/tmp": "rw"}, {"/tmp": "size=1m,suid"}, {"/tmp": "size=1m,dev"}, {"/tmp": "size=1m,bind"}, {"tmp": "size=1m"},
              {"/sys/fs/cgroup": "size=1m"}, {"/tmp": None}, ["/tmp"]],
    "LogConfig": [{"Type": "syslog", "Config": {"syslog-address": "udp://x"}}, {"Type": "json-file", "Config": {"tag": "x"}},
                  {"Type": "fluentd"}, {"Type": "none", "Path": "x"}, "none"],
    "RestartPolicy": [{"Name": "always"}, {"Name": "on-failure", "MaximumRetryCount": 3}, "always"],
    "Ulimits": [[{"Name": "rtprio", "Soft": 99, "Hard": 99}], [{"Name": "nofile", "Soft": "x"}], [{"name": "nofile"}], {"a": 1}],
    "PortBindings": [{"80/tcp": [{"HostPort": "80"}]}],
    "PublishAllPorts": [True],
    "ExtraHosts": [["a:1.2.3.4"]],
    "Dns": [["8.8.8.8"], "127.0.0.1"],
    "DnsSearch": [["example.com"]],
    "GroupAdd": [["docker"], ["0"]],
    "StorageOpt": [{"size": "1G"}],
    "VolumeDriver": ["local"],
    "Annotations": [{"a": "b"}],
    "Isolation": ["hyperv"],
    "SomethingNew": [True, None, ""],
}  # fmt: skip
TOP: dict[str, list[Any]] = {
    "Image": [None, 5, []],
    "User": [None, "", "0", "root", "0:0", "1000:0", "npc", "-1", "1000:docker", 1000],
    "Labels": [None, {}, {"other": "x"}, {LABEL: 5}, {LABEL: "x", "com.docker.compose.project": "officetown"}],
    "Volumes": [{"/x": {}}],
    "NetworkingConfig": [{"EndpointsConfig": {"bridge": {}}}],
    "Healthcheck": [{"Test": ["CMD", "x"]}],
    "Env": [["A=1\0"], {"A": "1"}, ["x"] * 65, [5]],
    "Cmd": [[1], {"a": 1}],
    "HostConfig": [None, [], "x"],
    "OnBuild": [["x"]],
    "ExposedPorts": [{"80/tcp": {}}],
    "MacAddress": ["02:42:ac:11:00:02"],
    "Hostname": ["a.b", "x" * 64, "a b"],
    "Surprise": [1, None],
}


def _with(where: str, key: str, value: Any) -> dict[str, Any]:
    body = good()
    (body["HostConfig"] if where == "host" else body)[key] = value
    return body


CASES = [("host", k, v) for k, values in HOST.items() for v in values] + [
    ("top", k, v) for k, values in TOP.items() for v in values
]


def test_the_docker_sandbox_s_own_body_is_allowed() -> None:
    assert bodies.check_create(good(), POLICY) == DIGEST


@pytest.mark.parametrize(("where", "key", "value"), CASES, ids=lambda v: str(v)[:40])
def test_each_forbidden_thing_is_refused_alone(where: str, key: str, value: Any) -> None:
    with pytest.raises(Refused) as refused:
        bodies.check_create(_with(where, key, value), POLICY)
    assert refused.value.status in (400, 403) and refused.value.sentence.endswith(".")


@pytest.mark.parametrize("key", ["CapDrop", "SecurityOpt", "NetworkMode", "ReadonlyRootfs", "Memory", "PidsLimit"])
def test_what_holds_a_sandbox_may_not_be_left_out(key: str) -> None:
    body = good()
    del body["HostConfig"][key]
    with pytest.raises(Refused, match=key):
        bodies.check_create(body, POLICY)


@pytest.mark.parametrize("key", ["Image", "Labels", "User", "HostConfig"])
def test_nor_may_what_makes_it_ours(key: str) -> None:
    body = good()
    del body[key]
    with pytest.raises(Refused, match=key):
        bodies.check_create(body, POLICY)


def _recased(keys: list[str]) -> st.SearchStrategy[tuple[str, str]]:
    def recase(key: str, flips: list[bool]) -> str:
        return "".join(c.swapcase() if flip else c for c, flip in zip(key, flips, strict=True))

    return st.sampled_from(keys).flatmap(
        lambda key: (
            st.lists(st.booleans(), min_size=len(key), max_size=len(key))
            .map(lambda flips: (key, recase(key, flips)))
            .filter(lambda pair: pair[0] != pair[1])
        )
    )


@given(_recased(sorted(HOST)), st.sampled_from([True, None, [], {}, "", "host", ["ALL"]]))
def test_no_key_passes_in_another_case(pair: tuple[str, str], value: Any) -> None:
    """The engine takes `privileged` for `Privileged`."""
    with pytest.raises(Refused):
        bodies.check_create(_with("host", pair[1], value), POLICY)


@given(
    st.dictionaries(
        st.one_of(st.sampled_from(sorted(HOST)), st.text(max_size=12)),
        st.recursive(
            st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "host", "ALL", "/", "none", "always"]),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["Type", "Name", "/tmp", "a"]), inner, max_size=2),
            max_leaves=4,
        ),
        max_size=4,
    )
)  # fmt: skip
def test_whatever_is_allowed_keeps_what_makes_a_sandbox(changes: dict[str, Any]) -> None:
    body = good()
    body["HostConfig"] |= changes
    try:
        bodies.check_create(body, POLICY)
    except Refused:
        return
    host = body["HostConfig"]
    assert host["CapDrop"] == ["ALL"] and host["NetworkMode"] == "none" and host["ReadonlyRootfs"] is True
    assert all("no-new-privileges" in v for v in host["SecurityOpt"]) and host["SecurityOpt"]
    assert host["Memory"] > 0 and host["PidsLimit"] > 0
    for key in (
        "Binds",
        "Mounts",
        "Privileged",
        "CapAdd",
        "Devices",
        "PidMode",
        "UTSMode",
        "UsernsMode",
        "VolumesFrom",
        "Sysctls",
    ):
        assert not host.get(key)
    assert host.get("IpcMode") in (None, "", "private", "none") and host.get("MaskedPaths") is None


@pytest.mark.parametrize(
    "text",
    [
        b'{"Image":"a","Image":"b"}', b'{"Image":"a","image":"b"}', b'{"HostConfig":{"Memory":1,"memory":2}}', b"[]", b"5",
        b"", b"{", b"\xff{}", b'{"a":NaN}', b'{"a":Infinity}', b"{" * 5000, b'{"a":' * 3000 + b"1" + b"}" * 3000,
    ],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_not_read(text: bytes) -> None:
    with pytest.raises(Refused):
        bodies.parse(text)


def test_what_was_read_is_what_is_written() -> None:
    body = {"Cmd": ["é\ud800"], "Labels": {"a": "\u2028"}}
    assert json.loads(bodies.encode(bodies.parse(bodies.encode(body)))) == body


def _job(**changes: Any) -> dict[str, Any]:
    return {"Container": "x", "User": "65534:65534", "Privileged": False, "Tty": False, "AttachStdin": True,
            "Cmd": ["tar"], "Env": None, "WorkingDir": "/"} | changes  # fmt: skip


def test_a_command_like_the_docker_sandbox_s_is_allowed() -> None:
    bodies.check_exec(_job())
    bodies.check_exec(_job(User=""))  # then it is the container's own


@pytest.mark.parametrize(
    "change",
    [{"Privileged": True}, {"privileged": True}, {"Privileged": 1}, {"User": "0"}, {"User": "root"}, {"User": "1000:0"},
     {"Cmd": []}, {"Cmd": "sh"}, {"Cmd": None}, {"DetachKeys": "a"}, {"Other": 1}],
)  # fmt: skip
def test_a_command_with_more_than_that_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        bodies.check_exec(_job(**change))


def test_a_command_s_start_says_no_more_than_how_it_is_attached() -> None:
    bodies.check_exec_start({"Tty": False, "Detach": False})
    with pytest.raises(Refused):
        bodies.check_exec_start({"Tty": False, "Privileged": False})


@pytest.mark.parametrize(
    ("label", "labels", "ours"),
    [("a", {"a": "x"}, True), ("a", {"b": "x"}, False), ("a=x", {"a": "x"}, True), ("a=x", {"a": "y"}, False),
     ("a", None, False), ("a", ["a"], False)],
)  # fmt: skip
def test_a_mark_is_a_name_or_a_name_and_its_value(label: str, labels: Any, ours: bool) -> None:
    assert bodies.Policy("i", label).ours(labels) is ours


def test_the_checks_leave_the_body_as_it_was() -> None:
    body, before = good(), copy.deepcopy(good())
    check: Callable[..., object] = bodies.check_create
    check(body, POLICY)
    assert body == before
