"""What may be asked for in a body: the shape of a sandbox's container, and of a command in one.

A body is read once, here, and what is passed on is written from what was read. Every key has to be known by its exact
name: the engine takes keys in any case and keeps the last of two, so a filter that looks for bad ones misses some.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from services.engineproxy.wire import Refused

Check = Callable[[Any], bool]

MEMORY = 8 << 30  # bytes a container may have at most
PROCESSES = 4096
CPUS = 16 * 10**9  # in billionths
SHM = 1 << 30


@dataclass(frozen=True)
class Policy:
    """Whose containers these are: the `image` they are made from, and the label that marks them, `NAME` or `NAME=VALUE`."""

    image: str
    label: str

    def ours(self, labels: object) -> bool:
        """Whether a container's labels carry the mark."""
        name, equals, value = self.label.partition("=")
        return isinstance(labels, dict) and name in labels and (not equals or labels[name] == value)


def parse(body: bytes) -> dict[str, Any]:
    """Return a body's object. Raises Refused where it is none, has a key twice, or is nested beyond reason."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key.casefold() for key, _ in found}) != len(found):
            raise Refused("A key of the body is there twice.")
        return dict(found)

    def constant(name: str) -> Any:
        raise Refused(f"The body has the number {name}.")

    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise Refused("The body is not JSON.", 400) from error
    if not isinstance(value, dict):
        raise Refused("The body is not a JSON object.", 400)
    return value


def encode(value: Mapping[str, Any]) -> bytes:
    """Write a body that was found good."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


# -- checks -----------------------------------------------------------------------------------------------------------


def _nothing(value: Any) -> bool:
    """Whether a value asks for nothing: absent, empty, zero, false."""
    return value is None or value is False or value == "" or value == [] or value == {} or (value == 0 and _int(value))


def _null(value: Any) -> bool:
    """Whether a value is not there. For the lists of masked paths an empty one would unmask them all."""
    return value is None


def _int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _flag(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _text(most: int, pattern: str = r"[^\x00]*") -> Check:
    return lambda value: (
        value is None or (isinstance(value, str) and len(value) <= most and bool(re.fullmatch(pattern, value, re.S)))
    )


def _texts(most: int, each: int = 65_536) -> Check:
    def check(value: Any) -> bool:
        return value is None or (
            isinstance(value, list)
            and len(value) <= most
            and all(isinstance(v, str) and len(v) <= each and "\0" not in v for v in value)
        )

    return check


def _texts_or_text(value: Any) -> bool:
    return _text(65_536)(value) or _texts(256)(value)


def _between(least: int, most: int) -> Check:
    return lambda value: _int(value) and least <= value <= most


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _one_of(*values: Any) -> Check:
    return lambda value: any(value == v and type(value) is type(v) for v in values)


def _labels(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= 32
        and all(isinstance(v, str) and len(k) <= 256 and len(v) <= 4096 for k, v in value.items())
        # The labels of Compose would make a sandbox look like a service of this stack.
        and not any(k.startswith("com.docker.") for k in value)
    )


# Over /sys and the queues an empty folder hides what the engine shows of the machine; over /proc it would hide too much.
_HIDEABLE = re.compile(r"/sys|/dev/mqueue|/(tmp|run|home|mnt|work|var/tmp|dev/shm)(/[A-Za-z0-9._-]+)*")
_TMPFS_OPTION = re.compile(
    r"rw|ro|exec|noexec|nosuid|nodev|noatime|size=[0-9]+[kmg]?|mode=0?[0-7]{3,4}|uid=[0-9]+|gid=[0-9]+|nr_inodes=[0-9]+[km]?",
)


def _inside(path: Any) -> bool:
    return isinstance(path, str) and bool(_HIDEABLE.fullmatch(path)) and not {".", ".."} & set(path.split("/"))


def _tmpfs(value: Any) -> bool:
    """Memory-backed folders of the container's own, of a stated size."""
    if value is None:
        return True
    return (
        isinstance(value, dict)
        and len(value) <= 16
        and all(
            _inside(path)
            and isinstance(options, str)
            and all(_TMPFS_OPTION.fullmatch(option) for option in options.split(","))
            and any(option.startswith("size=") for option in options.split(","))
            for path, options in value.items()
        )
    )


def _security(value: Any) -> bool:
    """`no-new-privileges` and nothing else: profiles other than the engine's own could only be weaker."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(v in ("no-new-privileges", "no-new-privileges:true", "no-new-privileges=true") for v in value)
    )


def _ulimits(value: Any) -> bool:
    return value is None or (
        isinstance(value, list)
        and len(value) <= 16
        and all(
            isinstance(v, dict)
            and set(v) <= {"Name", "Soft", "Hard"}
            and v.get("Name")
            in ("nofile", "nproc", "fsize", "cpu", "as", "core", "data", "stack", "memlock", "sigpending", "msgqueue")
            and all(v.get(k) is None or (_int(v[k]) and v[k] >= -1) for k in ("Soft", "Hard"))
            for v in value
        )
    )


def _log(value: Any) -> bool:
    """The engine's own kinds of log that go nowhere else."""
    if value is None:
        return True
    if (
        not isinstance(value, dict)
        or not set(value) <= {"Type", "Config"}
        or value.get("Type") not in ("none", "json-file", "local", "", None)
    ):
        return False
    config = value.get("Config")
    return config is None or (
        isinstance(config, dict)
        and set(config) <= {"max-size", "max-file"}
        and all(isinstance(v, str) and bool(re.fullmatch(r"[0-9]{1,6}[kmg]?", v)) for v in config.values())
    )


def _restart(value: Any) -> bool:
    """Never again: a sandbox that ended is gone."""
    return value is None or (
        isinstance(value, dict)
        and set(value) <= {"Name", "MaximumRetryCount"}
        and value.get("Name") in ("", "no", None)
        and value.get("MaximumRetryCount") in (0, None)
    )


def _resolvers(value: Any) -> bool:
    """Resolvers inside the container, where there is no network: so that it learns nothing of the machine's own."""
    return value is None or (isinstance(value, list) and all(v in ("127.0.0.1", "::1") for v in value))


def _user(value: Any) -> bool:
    """A number other than root's, with a group of the same kind."""
    return isinstance(value, str) and bool(re.fullmatch(r"[1-9][0-9]{0,8}(:[1-9][0-9]{0,8})?", value))


_HOST: dict[str, Check] = {
    # What makes it a sandbox.
    "CapDrop": lambda value: isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and value[0].upper() == "ALL",
    "SecurityOpt": _security,
    "NetworkMode": _one_of("none"),
    "ReadonlyRootfs": _one_of(True),
    "Memory": _between(6 << 20, MEMORY),
    "PidsLimit": _between(1, PROCESSES),
    # What it may have.
    "MemorySwap": _optional(_between(0, MEMORY)),
    "MemoryReservation": _optional(_between(0, MEMORY)),
    "MemorySwappiness": _optional(_between(0, 100)),
    "KernelMemory": _nothing,
    "NanoCpus": _optional(_between(0, CPUS)),
    "CpuShares": _optional(_between(0, 4096)),
    "CpuPeriod": _optional(_between(0, 10**6)),
    "CpuQuota": _optional(_between(-1, 16 * 10**6)),
    "CpusetCpus": _text(64, r"[0-9,-]*"),
    "ShmSize": _optional(_between(0, SHM)),
    "Tmpfs": _tmpfs,
    "Ulimits": _ulimits,
    "Dns": _resolvers,
    "DnsSearch": lambda value: value in (None, [], ["."]),
    "Init": _flag,
    "AutoRemove": _flag,
    "LogConfig": _log,
    "OomScoreAdj": _optional(_between(0, 1000)),
    "IpcMode": _one_of(None, "", "private", "none"),
    "CgroupnsMode": _one_of(None, "", "private"),
    "ConsoleSize": _optional(lambda value: value == [0, 0]),
    "RestartPolicy": _restart,
    # Absent, since an empty list would show what the engine hides.
    "MaskedPaths": _null,
    "ReadonlyPaths": _null,
}  # fmt: skip
_HOST_NOTHING = (
    "Annotations", "Binds", "BlkioDeviceReadBps", "BlkioDeviceReadIOps", "BlkioDeviceWriteBps", "BlkioDeviceWriteIOps",
    "BlkioWeight", "BlkioWeightDevice", "CapAdd", "Cgroup", "CgroupParent", "ContainerIDFile", "CpuCount", "CpuPercent",
    "CpuRealtimePeriod", "CpuRealtimeRuntime", "CpusetMems", "DeviceCgroupRules", "DeviceRequests", "Devices",
    "DnsOptions", "ExtraHosts", "GroupAdd", "IOMaximumBandwidth", "IOMaximumIOps", "Isolation",
    "KernelMemoryTCP", "Links", "LxcConf", "Mounts", "OomKillDisable", "PidMode", "PortBindings", "Privileged",
    "PublishAllPorts", "Runtime", "StorageOpt", "Sysctls", "UTSMode", "UsernsMode", "VolumeDriver", "VolumesFrom",
)  # fmt: skip
_CONFIG: dict[str, Check] = {
    "Image": lambda value: isinstance(value, str),
    "HostConfig": lambda value: isinstance(value, dict),
    "Labels": _labels,
    "User": _user,
    "Cmd": _texts_or_text,
    "Entrypoint": _texts_or_text,
    "Env": _texts(64),
    "WorkingDir": _text(4096),
    "Hostname": _text(63, r"[A-Za-z0-9-]*"),
    "Domainname": _text(63, r"[A-Za-z0-9-]*"),
    "NetworkDisabled": _flag,
    "StopSignal": _text(16, r"[A-Z0-9]*"),
    "StopTimeout": _optional(_between(0, 600)),
    "ArgsEscaped": _flag,
    **dict.fromkeys(("Tty", "OpenStdin", "StdinOnce", "AttachStdin", "AttachStdout", "AttachStderr"), _flag),
}
_CONFIG_NOTHING = (
    "ExposedPorts", "Healthcheck", "MacAddress", "NetworkingConfig", "OnBuild", "Runtime", "Shell", "VolumeDriver", "Volumes",
)  # fmt: skip
_EXEC: dict[str, Check] = {
    "Container": _text(128),
    "Cmd": lambda value: isinstance(value, list) and bool(value) and _texts(256)(value),
    "Env": _texts(64),
    "WorkingDir": _text(4096),
    "User": lambda value: value is None or value == "" or _user(value),
    "Privileged": _one_of(None, False),
    **dict.fromkeys(("Tty", "AttachStdin", "AttachStdout", "AttachStderr"), _flag),
}
_EXEC_START: dict[str, Check] = {"Detach": _flag, "Tty": _flag}
_NEEDED_HOST = ("CapDrop", "SecurityOpt", "NetworkMode", "ReadonlyRootfs", "Memory", "PidsLimit")
_NEEDED = ("Image", "Labels", "User", "HostConfig")


def _keys(
    value: Mapping[str, Any], known: Mapping[str, Check], nothing: tuple[str, ...], needed: tuple[str, ...], what: str
) -> None:
    for key, given in value.items():
        if key in nothing:
            if not _nothing(given):
                raise Refused(f"{what} may not ask for {key}.")
        elif key not in known:
            raise Refused(f"{what} asks for {key[:60]!r}, which is not known here.")
        elif not known[key](given):
            raise Refused(f"{what} may not have this {key}.")
    for key in needed:
        if key not in value:
            raise Refused(f"{what} needs {key}.")


def check_create(value: Mapping[str, Any], policy: Policy) -> str:
    """Hold the body of a new container to what a sandbox is; return the image it names. Raises Refused.

    Whether that image is the assistant's is for the caller to find out where it is not named so: it may be its id.
    """
    _keys(value, _CONFIG, _CONFIG_NOTHING, _NEEDED, "A sandbox")
    _keys(value["HostConfig"], _HOST, _HOST_NOTHING, _NEEDED_HOST, "A sandbox")
    host = value["HostConfig"]
    if host.get("MemorySwap") not in (None, 0) and host["MemorySwap"] < host["Memory"]:
        raise Refused("A sandbox may not have this MemorySwap.")
    if not policy.ours(value["Labels"]):
        raise Refused(f"A sandbox needs the label {policy.label}.")
    image = value["Image"]
    assert isinstance(image, str)
    return image


def check_exec(value: Mapping[str, Any]) -> None:
    """Hold the body of a command in a container to what is allowed. Raises Refused."""
    _keys(value, _EXEC, ("ConsoleSize", "DetachKeys"), ("Cmd",), "A command")


def check_exec_start(value: Mapping[str, Any]) -> None:
    """Hold the body that starts a command to what is allowed. Raises Refused."""
    _keys(value, _EXEC_START, ("ConsoleSize",), (), "A command's start")
