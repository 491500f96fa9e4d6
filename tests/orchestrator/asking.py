"""The command line with an offline model that notes each call before it answers: what a test kills and looks into.

python -m tests.orchestrator.asking NOTES COMMAND...
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from orchestrator.cli import execute
from orchestrator.compose import House
from orchestrator.settings import read_settings
from services.offline import OfflineProfessional
from simulator.conversation import ModelRequest, ModelResponse


class Noting:
    """Writes `activation ordinal` to a file, then answers."""

    def __init__(self, path: Path) -> None:
        self._model = OfflineProfessional()
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Note the call, whole or not at all, and answer it."""
        os.write(self._descriptor, f"{request.call[0]} {request.call[1]}\n".encode())
        return self._model.complete(request)


if __name__ == "__main__":
    notes = Path(sys.argv[1])
    sys.exit(execute(sys.argv[2:], lambda: House(read_settings(os.environ), model=Noting(notes))))
