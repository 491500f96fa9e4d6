"""A session: one agent's run behind the gateway, its turns, its accounts, and its trajectory file."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from services.gateway import atif
from services.gateway.recorder import Recorder, Totals
from services.gateway.threads import Placement
from services.models.http_server import Failure, failure_of, unanswered
from services.models.ledger import Ledger
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import BudgetExhausted, InfrastructureError, OfficeBusy, OfficeTownError, UsageError, WorkFailed
from simulator.ports import Model

OVER = "turn_budget_exhausted"


class TrajectoryFile:
    """A trajectory on disk, whole at every moment, held by one process at a time."""

    def __init__(self, path: Path) -> None:
        """Take the file. Raises `OfficeBusy` if another gateway writes it, `UsageError` if it cannot be written."""
        self.path = path
        lock = path.with_name(f".{path.name}.lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}; choose another place") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise OfficeBusy(f"another gateway is writing {path}; stop it, or choose another place") from error

    def load(self) -> bytes | None:
        """Return what is there, or None."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"cannot read {self.path}: {error.strerror}; choose another place") from error

    def save(self, data: bytes) -> None:
        """Replace the file in one step: a reader, or a crash, finds the old one or the new one."""
        draft = self.path.with_name(f".{self.path.name}.new")
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)

    def close(self) -> None:
        """Let the file go."""
        os.close(self._lock)


class Session:
    """Asks the model for one agent: within its turns, on the record. Thread-safe.

    Each call is noted in `ledger` under the session's name, so a model given here needs no ledger of its own.
    """

    def __init__(
        self, model: Model, recorder: Recorder, file: TrajectoryFile, ledger: Ledger, turns: int | None, over: int
    ) -> None:
        """Go on from what the file holds. Raises `UsageError` if that is something else."""
        self._model = model
        self._recorder = recorder
        self._file = file
        self._ledger = ledger
        self._turns = turns
        self._over = over
        self._closed = self._let_go = False
        self._flying = 0
        self._lock = threading.Condition()
        stored = file.load()
        if stored is not None:
            try:
                recorder.resume(atif.decode(stored))
            except UsageError as error:
                raise UsageError(f"{file.path} cannot be gone on with: {error}; choose another place") from error

    @property
    def name(self) -> str:
        """The session's name."""
        return self._recorder.session

    @property
    def path(self) -> Path:
        """Where the trajectory is."""
        return self._file.path

    @property
    def totals(self) -> Totals:
        """What was used so far."""
        with self._lock:
            return self._recorder.totals

    def trajectory(self) -> atif.Trajectory:
        """Return the trajectory so far."""
        with self._lock:
            return self._recorder.trajectory()

    def ask(self, request: ModelRequest, ignored: Sequence[str] = ()) -> ModelResponse | Failure:
        """Answer a request, or say why not. What is returned is on disk before."""
        with self._lock:
            if self._closed:
                return Failure(503, "server_error", "gateway_closed", "the gateway is closing")
            if self._turns is not None and self._recorder.totals.turns >= self._turns:
                return self._used_up(request)
            call = (f"gateway/{self._recorder.session}", self._recorder.totals.calls + 1)
            request = msgspec.structs.replace(request, call=call)
            place = self._recorder.begin(request, ignored)
            self._flying += 1
        try:
            answer: ModelResponse | OfficeTownError
            try:
                self._save()
                answer = self._model.complete(request).cleaned()
            except OfficeTownError as error:
                answer = error
            except Exception as error:  # noqa: BLE001 - a model's own bug must reach the agent as a failure, on the record
                answer = OfficeTownError(f"the model broke down ({type(error).__name__}); this is a bug of its own")
            return self._settle(request, place, answer)
        finally:
            with self._lock:
                self._flying -= 1
                self._lock.notify_all()

    def close(self, patience_s: float = 5.0) -> None:
        """Take no more requests, wait for those under way, and let the file go.

        An answer that comes later is not recorded: its turn was counted when it began.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._lock.wait_for(lambda: self._flying == 0, patience_s)
            self._let_go = True
            self._file.close()

    def _used_up(self, request: ModelRequest) -> Failure:
        if self._recorder.refused(request):
            # A disk that is full now changes nothing of what the agent is told.
            with suppress(InfrastructureError):
                self._save()
        words = f"the turn budget of {self._turns} model calls is used up; stop here, with the work as it is"
        return Failure(self._over, "insufficient_quota", OVER, words)

    def _settle(
        self, request: ModelRequest, place: Placement, answer: ModelResponse | OfficeTownError
    ) -> ModelResponse | Failure:
        """Record what came of a call."""
        if isinstance(answer, ModelResponse):
            self._ledger.add(request, answer)
            failure = unanswered(answer)
        else:
            failure = failure_of(answer)
        with self._lock:
            if failure is None:
                assert isinstance(answer, ModelResponse)
                self._recorder.answered(place, request, answer)
            else:
                # Nobody answered where these were raised: the agent keeps its turn, and may ask again.
                spent = not isinstance(answer, InfrastructureError | BudgetExhausted | WorkFailed)
                response = answer if isinstance(answer, ModelResponse) else None
                self._recorder.failed(place, request, failure, response, spent)
        try:
            self._save()
        except InfrastructureError as error:
            return failure_of(error)
        if failure is not None:
            return failure
        assert isinstance(answer, ModelResponse)
        return answer

    def _save(self) -> None:
        with self._lock:
            # After closing, the file may be another gateway's.
            if self._let_go:
                return
            try:
                self._file.save(atif.encode(self._recorder.trajectory()))
            except OSError as error:
                raise InfrastructureError(
                    f"the trajectory cannot be written to {self._file.path}: {error.strerror}; make room and ask again"
                ) from error
