"""Say whether this Python can make the project's environment. Runs under any Python 3, before anything is installed."""

from __future__ import annotations

import sys


def fault(version: tuple[int, int], has_ensurepip: bool) -> str:
    """What keeps a Python of this version from making `.venv`, and what to do; empty if nothing does."""
    shown = f"{version[0]}.{version[1]}"
    if version < (3, 11):
        return (
            f"OfficeTown needs Python 3.11 or newer; `python3` here is {shown}. "
            "Name a newer one: make install PYTHON=python3.12"
        )
    if not has_ensurepip:
        return (
            f"Python {shown} came without the part that makes environments (venv with ensurepip). "
            "On Debian and Ubuntu: apt-get install python3-venv"
        )
    return ""


def main() -> int:
    """Print the fault, if any, and return the exit code."""
    try:
        import ensurepip  # noqa: F401  # Debian leaves it out of python3; asking importlib's finder would import more
    except ImportError:
        found = False
    else:
        found = True
    text = fault((sys.version_info[0], sys.version_info[1]), found)
    if text:
        print(text, file=sys.stderr)
    return 2 if text else 0


if __name__ == "__main__":
    sys.exit(main())
