"""What every command finds in its environment, whichever provider runs it."""

from __future__ import annotations

import datetime

from services.sandbox.prefix import INSIDE


def environment(now: int) -> dict[str, str]:
    """The variables of every command: nothing of the host's, and the time is simulated (RULE 36)."""
    return {
        "HOME": "/home/npc/computer",
        "LANG": "C.UTF-8",
        "LOGNAME": "npc",
        "OFFICETOWN_NOW": datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": f"{INSIDE}/bin:/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "SHELL": "/bin/bash",
        "SOURCE_DATE_EPOCH": str(now),
        "TERM": "dumb",
        "TMPDIR": "/tmp",  # noqa: S108  # inside the sandbox, where nobody else is
        "TZ": "UTC",
        "USER": "npc",
    }
