"""The image of the container provider: what it is made from, its name, and how it is built.

    python -m services.sandbox.image build [--base IMAGE]
    python -m services.sandbox.image check
    python -m services.sandbox.image name

An image is named after all that it is made from, so one that a change left behind is not taken for the one needed.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import docker
from docker.errors import NotFound

from services.sandbox import engine
from simulator.errors import OfficeTownError, SandboxUnavailable

REPOSITORY = "officetown/assistant"
DOCKERFILE = "services/images/assistant/Dockerfile"
INPUTS = (
    DOCKERFILE,
    "requirements/assistant.lock",
    "services/__init__.py",
    *(
        f"services/sandbox/{name}.py"
        for name in (
            "__init__", "contained", "frames", "hometree", "layout", "prefix", "seccomp", "supervisor",
        )
    ),
    "simulator/__init__.py",
    "simulator/errors.py",
)  # fmt: skip
BUILD_COMMAND = "python -m services.sandbox.image build"
_CHECKOUT = Path(__file__).resolve().parents[2]
Say = Callable[[str], None]


def name(checkout: Path = _CHECKOUT) -> str:
    """The image's full name: its repository, and as tag a digest over everything it is made from.

    Raises SandboxUnavailable where this code does not run from a checkout.
    """
    digest = hashlib.sha256()
    for path, data in sorted(inputs(checkout).items()):
        digest.update(f"{path}\0{len(data)}\0".encode() + data)
    return f"{REPOSITORY}:{digest.hexdigest()[:16]}"


def inputs(checkout: Path = _CHECKOUT) -> dict[str, bytes]:
    """Everything the image is made from, by path: the whole of what its build is sent."""
    try:
        return {path: (checkout / path).read_bytes() for path in INPUTS}
    except OSError as fault:
        raise SandboxUnavailable(
            f"The image of the docker sandbox is made from a checkout, and {fault.filename} is not there. Run from a "
            "checkout, or name an image that was built from one."
        ) from fault


def find(client: docker.APIClient, wanted: str) -> str:
    """Return the digest (`sha256:...`) of the image of this name. Raises SandboxUnavailable, saying what to run."""
    with engine.speaking("looking for the sandbox's image"):
        try:
            return str(client.inspect_image(wanted)["Id"])  # type: ignore[no-untyped-call]
        except NotFound:
            others = client.images(name=REPOSITORY)
    stale = f" The {len(others)} built before were made from something else." if others else ""
    raise SandboxUnavailable(
        f"The engine has no image {wanted}, which the docker sandbox runs in.{stale} Build it once with: "
        f"{BUILD_COMMAND} (where no registry can be reached, first make the base: services/images/base.sh)."
    )


def build(client: docker.APIClient, checkout: Path = _CHECKOUT, base: str = "", say: Say = lambda _text: None) -> str:
    """Build the image unless it is there; return its name. `base` replaces the Dockerfile's own base image."""
    wanted = name(checkout)
    try:
        find(client, wanted)
        return wanted
    except SandboxUnavailable:
        say(f"Building {wanted}; this takes two minutes, once.")
    with engine.speaking("building the sandbox's image"):
        steps = client.build(
            fileobj=_context(inputs(checkout)), custom_context=True, encoding="gzip", dockerfile=DOCKERFILE,
            tag=wanted, buildargs={"BASE_IMAGE": base} if base else {}, rm=True, forcerm=True, decode=True,
        )  # fmt: skip
        _follow(steps)
    find(client, wanted)
    return wanted


def _follow(steps: Any) -> None:
    """Hear the build out. Raises SandboxUnavailable with the last of what it said where it failed."""
    heard: list[str] = []
    fault = ""
    for step in steps:  # to the end, also after a fault: so the connection is free again
        heard.append(str(step.get("stream", "")))
        fault = fault or str(step.get("error", ""))
    if fault:
        said = "".join(heard[-40:]).strip()[-3000:]
        raise SandboxUnavailable(f"The sandbox's image could not be built: {fault.strip()}\n{said}")


def _context(files: Mapping[str, bytes]) -> io.BytesIO:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for path, data in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    packed.seek(0)
    return packed


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m services.sandbox.image", description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["build", "check", "name"])
    parser.add_argument("--base", default="", help="the image to build on (default: the Dockerfile's own)")
    options = parser.parse_args(arguments)
    try:
        if options.action == "name":
            print(name())
            return 0
        client = engine.connect(os.environ)
        try:
            named = build(client, base=options.base, say=print) if options.action == "build" else name()
            print(f"{named}: {find(client, named)}")
        finally:
            client.close()
    except OfficeTownError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
