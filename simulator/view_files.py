"""The part of a view that shows files, and what all parts of a view share (DESIGN 4, RULES 28 and 29)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from simulator.access import Subject, can
from simulator.access_base import active_person, version_of
from simulator.office import Office
from simulator.records import Acceptance, File, FileRef, FileVersion, Person
from simulator.view_paths import COMPANY, HOME, Wanted, settle, wanted
from simulator.view_types import SeenFile
from simulator.visible import Memo, Seen, Sight, Visible, same, visible, visible_reference

T = TypeVar("T")
_Lot = tuple[Seen, SeenFile]


class _Laid(msgspec.Struct, frozen=True):
    """Where files appear: before clashes, settled, and the other way round. The dicts are never changed."""

    wanted: Wanted
    paths: dict[str, str]
    by_path: dict[str, str]


class _Shelf(msgspec.Struct, frozen=True):
    """The latest readable version of every file, by id with what it was made from, and in order of its path."""

    lots: dict[str, _Lot]
    files: tuple[SeenFile, ...]


class FilesView:
    """The files of an office as one subject sees them. Unknown and inactive people see nothing.

    `memo` None means plain loops over whole maps, no index, and nothing remembered.
    """

    def __init__(self, office: Office, subject: Subject, memo: Memo | None) -> None:
        self._office = office
        self._memo = memo
        self.subject = subject

    # -- oneself ------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self._office.now

    @cached_property
    def person(self) -> Person | None:
        """The subject's own record."""
        return active_person(self._office, self.subject.person)

    # -- files --------------------------------------------------------------------------------------------------------

    @cached_property
    def _visible(self) -> Visible:
        if self._memo is None:
            return visible_reference(self._office, self.subject)
        return visible(self._office, self.subject, self._memo)

    @cached_property
    def _names(self) -> tuple[Any, ...]:
        """What names and what one may know of them rest on: while it is the same, what was found of a file stands."""
        office = self._office
        return (office.people, office.matters, office.departments, office.clients, office.switches)

    @cached_property
    def _laid(self) -> _Laid:
        office, seen = self._office, self._visible

        def compute() -> _Laid:
            before = self._before("paths", self._names)
            found = wanted(office, self.subject.person, (s.file for s in seen.values()), before.wanted if before else {})
            paths = settle(office, found)
            return _Laid(found, paths, {path: file_id for file_id, path in paths.items()})

        return self._kept("paths", (*self._names, seen), compute)

    @property
    def _paths(self) -> dict[str, str]:
        return self._laid.paths

    def files(self) -> tuple[SeenFile, ...]:
        """The latest readable version of every file of which one is readable, by display path."""
        seen, laid = self._visible, self._laid

        def compute() -> _Shelf:
            before = self._before("shelf", self._names)
            known = before.lots if before else {}
            lots = {i: self._lot(seen[i], path, known.get(i)) for i, path in laid.paths.items()}
            return _Shelf(lots, tuple(lots[i][1] for _, i in sorted(laid.by_path.items())))

        return self._kept("shelf", (*self._names, seen, laid), compute).files

    def _lot(self, seen: Seen, path: str, known: _Lot | None) -> _Lot:
        """Return the latest readable version of a file, as found before where it is the same and lies in the same place."""
        if known is not None and known[0] is seen and known[1].path == path:
            return known
        return seen, self._seen_file(seen, seen.sights[-1])

    def versions(self, file_id: str) -> tuple[SeenFile, ...]:
        """Every readable version of one file, in order."""
        seen = self._visible.get(file_id)
        return tuple(self._seen_file(seen, sight) for sight in seen.sights) if seen is not None else ()

    def file(self, wanted: FileRef | str) -> SeenFile | None:
        """Return one readable version: by reference, or by display path (latest; `PATH@2` is version 2).

        A path may leave out `/home/npc/computer/` or `/mnt/company/`.
        """
        if isinstance(wanted, FileRef):
            return next((f for f in self.versions(wanted.file) if f.ref == wanted), None)
        found = self._at_path(wanted)
        if found is not None:
            return found[-1]
        path, mark, number = wanted.rpartition("@")
        found = self._at_path(path) if mark and number.isdecimal() and number.isascii() else None
        return next((f for f in found or () if f.ref.version == int(number)), None)

    def _at_path(self, path: str) -> tuple[SeenFile, ...] | None:
        for candidate in (path, HOME + path, COMPANY + path):
            file_id = self._laid.by_path.get(candidate)
            if file_id is not None:
                return self.versions(file_id)
        return None

    def path_of(self, ref: FileRef) -> str | None:
        """Return the display path of a readable version's file."""
        return self._paths[ref.file] if self.may_read(ref) else None

    def may_read(self, ref: FileRef) -> bool:
        return can(self.subject, "read", ref, self._office).allowed

    def readable(self, refs: Iterable[FileRef]) -> tuple[FileRef, ...]:
        """Those of `refs` that may be read, in their order."""
        return tuple(ref for ref in refs if self.may_read(ref))

    def confirmations(self, ref: FileRef) -> tuple[Acceptance, ...]:
        """Current acceptances and sign-offs of exactly this version, if it may be read."""
        if not self.may_read(ref):
            return ()
        held = (self._office.acceptances[i] for i in self._office.accepted.get(ref.file, ()))
        return tuple(a for a in held if a.version == ref.version)

    def sources(self, ref: FileRef) -> tuple[FileRef, ...]:
        """What a readable version was made from, as far as that may be read too."""
        found = version_of(self._office, ref)
        return self.readable(found[1].sources) if found is not None and self.may_read(ref) else ()

    def _seen_file(self, seen: Seen, sight: Sight) -> SeenFile:
        file: File = seen.file
        v: FileVersion = file.versions[sight.version - 1]
        # That a client is released to is no reason to learn of it: other teams' clients stay unnamed.
        release = tuple(c for c in v.release if can(self.subject, "know", f"client:{c}", self._office).allowed)
        return SeenFile(
            FileRef(file.id, v.number), self._paths[file.id], file.owner, file.space, file.matter, v.blob, v.media_type,
            v.author, v.at, v.level, v.walls, release, v.delegation, tuple(s.version for s in seen.sights),
            sight.reason,
        )  # fmt: skip

    # -- what all parts share -----------------------------------------------------------------------------------------

    def _candidates(self, row: tuple[str, ...], everything: Iterable[str]) -> tuple[str, ...]:
        """Ids to judge: the index row, or, for the reference, all there are."""
        return row if self._memo is not None else tuple(sorted(everything))

    def _before(self, kind: str, basis: tuple[Any, ...]) -> Any:
        """What was last remembered of a kind, if it rested on the same `basis` and then on something else; else None."""
        kept = self._memo.recall(kind, self.subject) if self._memo is not None else None
        return kept[1] if kept is not None and same(kept[0][: len(basis)], basis) else None

    def _kept(self, kind: str, rests_on: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """What `compute` gives, remembered as long as it rests on the same objects; never for the reference."""
        if self._memo is None:
            return compute()
        found: T = self._memo.get(kind, self.subject, rests_on, compute)
        return found
