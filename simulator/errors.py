"""Every error that OfficeTown raises on purpose, drawn as a tree.

OfficeTownError            what was wrong, where, and what to do
+-- UsageError             the call was wrong                              exit code 2
|   +-- PackageError       a package does not hold together (carries its faults)
|   +-- UnknownReference   no such office, person, delegation, snapshot
+-- WorkFailed             the work itself failed                          exit code 1
|   +-- TapeMismatch       a recorded answer belongs to another request (RULE 2)
|   +-- CorruptStore       bytes do not match their hash
+-- BudgetExhausted        stopped by budget at a commit                   exit code 3
+-- InfrastructureError    the outside failed                              exit code 4
    +-- ModelOutage        retryable faults past their deadline (RULE 3)
    +-- SandboxError       the sandbox itself died; never tool output
    +-- SandboxUnavailable no provider works on this machine
    +-- StorageError       database or disk
        +-- Fenced         another process took the office over (RULE 24)
        +-- OfficeBusy     another process holds the office
"""

from __future__ import annotations


class OfficeTownError(Exception):
    """Root of all errors raised on purpose. `exit_code` is what the command line ends with."""

    exit_code = 1


class UsageError(OfficeTownError):
    """The call was wrong: a bad argument, a missing file, an unknown name."""

    exit_code = 2


class PackageError(UsageError):
    """An organization package does not hold together.

    `faults` are complete sentences, each with file and, where known, line.
    """

    def __init__(self, message: str, faults: tuple[str, ...] = ()) -> None:
        super().__init__("\n".join((message, *(f"  - {fault}" for fault in faults))))
        self.faults = faults


class UnknownReference(UsageError):
    """Nothing is known under the given name, or it is not the caller's to know."""


class WorkFailed(OfficeTownError):
    """The work was done as asked and failed."""


class TapeMismatch(WorkFailed):
    """The stored answer for a call belongs to another request (RULE 2)."""


class CorruptStore(WorkFailed):
    """Stored bytes do not match the hash they are filed under."""


class BudgetExhausted(OfficeTownError):
    """The budget is used up, counting what is in flight at its worst case."""

    exit_code = 3


class InfrastructureError(OfficeTownError):
    """The outside failed: a provider, a sandbox, a database, a disk."""

    exit_code = 4


class ModelOutage(InfrastructureError):
    """A model endpoint kept failing past its deadline; the clock stands still (RULE 3)."""


class SandboxError(InfrastructureError):
    """A sandbox died or could not be started. Never shown to an assistant as tool output."""


class SandboxUnavailable(InfrastructureError):
    """No sandbox provider works on this machine; the message says what to do."""


class CarrierError(InfrastructureError):
    """A chat, mail or calendar server failed or cannot be reached; what should go there waits in the outbox."""


class StorageError(InfrastructureError):
    """The database or the disk refused."""


class Fenced(StorageError):
    """Another process took this office over; this one must leave (RULE 24)."""


class OfficeBusy(StorageError):
    """Another process is running this office."""
