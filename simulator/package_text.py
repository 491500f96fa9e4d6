"""A package's files as text: YAML with line numbers in, a `Package` out, and back.

Every scalar is read as text and then converted to the declared type, so that a name `No`, a date or a code never turns
into something else on the way. Anchors and aliases are refused: a package says what it says where it stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import yaml

from simulator.events import CalendarRules, MemoryLimits, Pace
from simulator.package import (
    MATERIALS,
    ORGANIZATION,
    PROVENANCE,
    RHYTHMS,
    ClientCard,
    DemandCard,
    DepartmentCard,
    Fault,
    Material,
    MatterCard,
    Organization,
    Package,
    RhythmCard,
    RoleCard,
    SkillPack,
)

T = TypeVar("T")
Scalar = Callable[[str, str | None], Any]
Place = tuple[str | int, ...]
"""Where a value stands in a document: keys and positions from its root."""

YAML_BYTES = 1_000_000
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)|24:00")
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class Document(msgspec.Struct):
    """One YAML file: its data (maps, lists, texts), and the line of every place in it."""

    file: str
    data: Any
    lines: dict[Place, int]
    faults: list[Fault]

    def line(self, place: Place) -> int:
        """Return the line of `place`, or of the nearest place around it that is written."""
        for end in range(len(place), -1, -1):
            if place[:end] in self.lines:
                return self.lines[place[:end]]
        return 1

    def fault(self, place: Place, text: str) -> None:
        """Note a fault at `place`."""
        self.faults.append(Fault(self.file, self.line(place), text))


def _as_text(text: str, style: str | None) -> Any:
    return text


def read_document(file: str, data: bytes, scalar: Scalar = _as_text) -> Document:
    """Read one YAML file. What is wrong with it is in `faults`; its data is then what could be read. `scalar` makes a value
    of a scalar's text and style; without it every one is text."""
    document = Document(file, {}, {(): 1}, [])
    if len(data) > YAML_BYTES:
        document.fault((), f"The file has {len(data)} bytes; a file of settings has {YAML_BYTES} at most.")
        return document
    try:
        node = yaml.compose(data.decode("utf-8"), _LOADER)
        document.data = {} if node is None else _value(node, (), document, set(), scalar)
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        document.faults.append(Fault(file, line, "The file is not UTF-8 text. Save it as UTF-8."))
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        document.faults.append(Fault(file, mark.line + 1 if mark else 1, "This is not YAML that can be read."))
    except yaml.YAMLError:
        document.fault((), "The file holds characters that YAML does not allow.")
    except RecursionError:
        document.fault((), "The file is nested too deeply.")
    if not isinstance(document.data, dict):
        document.fault((), "The file must be a map of `key: value` lines.")
        document.data = {}
    return document


def _value(node: yaml.Node, place: Place, document: Document, seen: set[int], scalar: Scalar) -> Any:
    document.lines.setdefault(place, node.start_mark.line + 1)
    if id(node) in seen:
        document.fault(place, "Anchors and aliases are not used here. Write the value out.")
        return scalar("", None)
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            inner = (*place, key)
            if key in found:
                document.faults.append(
                    Fault(document.file, key_node.start_mark.line + 1, f"The key `{key}` is given twice.")
                )
            document.lines[inner] = key_node.start_mark.line + 1
            found[key] = _value(value_node, inner, document, seen, scalar)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*place, i), document, seen, scalar) for i, item in enumerate(node.value)]
    return scalar(str(node.value), getattr(node, "style", None))


# -- text to values ---------------------------------------------------------------------------------------------------


def convert(document: Document, value: Any, type_: type[T], place: Place) -> T | None:
    """Convert a value of the document; a fault at its place and None where it does not fit."""
    try:
        return msgspec.convert(value, type_, strict=False)
    except msgspec.ValidationError as fault:
        inner, text = plain(str(fault))
        document.fault((*place, *inner), text)
        return None


def plain(message: str) -> tuple[Place, str]:
    """Turn a validator's message into (place, our own sentence): its own words differ between versions (RULE 37)."""
    what, _, where = message.partition(" - at `$")
    place: Place = tuple(key or (int(i) if i.isdigit() else i) for key, i in _STEP.findall(where.rstrip("`")))
    if match := re.search(r"missing required field `([^`]+)`", what):
        return place, f"The field `{match[1]}` is missing."
    if match := re.search(r"unknown field `([^`]+)`", what):
        return (*place, match[1]), f"The field `{match[1]}` is not known here. Remove it or correct its name."
    if match := re.search(r"Invalid enum value '?([^']*)'?", what):
        return place, f"The value `{match[1]}` is not one of those allowed here."
    field = f" of `{place[-1]}`" if place else ""
    return place, f"The value{field} does not have the form that is expected here."


def _items(document: Document, key: str, type_: type[T]) -> tuple[T, ...]:
    """Convert a list item by item, so that one fault does not hide the next."""
    raw = document.data.get(key) or []
    if not isinstance(raw, list):
        document.fault((key,), f"`{key}` must be a list.")
        return ()
    found = (convert(document, item, type_, (key, i)) for i, item in enumerate(raw))
    return tuple(item for item in found if item is not None)


def _known(document: Document, keys: tuple[str, ...]) -> None:
    for key in document.data:
        if key not in keys:
            document.fault((key,), f"The field `{key}` is not known here. Remove it or correct its name.")


class _Calendar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    zone: str
    opens: str = "09:00"
    closes: str = "17:30"
    weekdays: tuple[str, ...] = WEEKDAYS[:5]
    holidays: tuple[str, ...] = ()
    always_open: bool = False


SETTINGS: dict[str, tuple[type[Any], Any]] = {
    "name": (str, None),
    "start": (date, None),
    "brief": (str, ""),
    "domain": (str, "general"),
    "placement": (str, ""),
    "currency": (str, "USD"),
    "pace": (Pace, Pace()),
    "memory": (MemoryLimits, MemoryLimits()),
    "compaction_chars": (int, 240_000),
    "turn_limit": (int, 24),
}
_LISTS: dict[str, type[Any]] = {"departments": DepartmentCard, "clients": ClientCard, "matters": MatterCard}


def _organization(document: Document) -> Organization | None:
    _known(document, (*SETTINGS, "calendar", *_LISTS))
    values: dict[str, Any] = {}
    for key, (type_, default) in SETTINGS.items():
        if key in document.data:
            values[key] = convert(document, document.data[key], type_, (key,))
        elif default is None:
            document.fault((), f"The field `{key}` is missing.")
        else:
            values[key] = default
    values["calendar"] = _calendar(document)
    values.update({key: _items(document, key, type_) for key, type_ in _LISTS.items()})
    if any(values.get(key) is None for key in (*SETTINGS, "calendar")):
        return None
    return Organization(**values)


def _calendar(document: Document) -> CalendarRules | None:
    raw = document.data.get("calendar")
    if raw is None:
        document.fault((), "The field `calendar` is missing.")
        return None
    card = convert(document, raw, _Calendar, ("calendar",))
    if card is None:
        return None
    opens, closes = (_minutes(document, key, text) for key, text in (("opens", card.opens), ("closes", card.closes)))
    weekdays = []
    for i, day in enumerate(card.weekdays):
        if day in WEEKDAYS:
            weekdays.append(WEEKDAYS.index(day))
        else:
            document.fault(("calendar", "weekdays", i), f"`{day}` is no weekday. Write {', '.join(WEEKDAYS)}.")
    return CalendarRules(card.zone, opens, closes, tuple(weekdays), card.holidays, card.always_open)


def _minutes(document: Document, key: str, text: str) -> int:
    if not _CLOCK.fullmatch(text):
        document.fault(("calendar", key), f"`{text}` is no time of day. Write HH:MM, for example 09:00.")
        return 0
    return int(text[:2]) * 60 + int(text[3:])


# -- a whole package --------------------------------------------------------------------------------------------------


def parse(files: Mapping[str, bytes]) -> tuple[Package | None, list[Fault]]:
    """Read a package from its files (without the manifest); (None, faults) when parts of it cannot be read."""
    faults: list[Fault] = []
    documents: dict[str, Document] = {}
    for name in (ORGANIZATION, RHYTHMS, MATERIALS):
        if name in files:
            documents[name] = read_document(name, files[name])
        else:
            faults.append(Fault(name, 0, "The file is missing."))
    if PROVENANCE not in files:
        faults.append(Fault(PROVENANCE, 0, "The file is missing. It says where the package comes from."))
    else:
        faults.extend(_provenance(files[PROVENANCE]))
    cards = [read_document(name, files[name]) for name in sorted(files) if is_card(name)]
    people = tuple(card for card in (_card(document) for document in cards) if card is not None)
    skills = tuple(_packs(files, faults))
    if len(documents) < 3:
        return None, faults + [fault for d in (*documents.values(), *cards) for fault in d.faults]
    organization = _organization(documents[ORGANIZATION])
    rhythms, materials = documents[RHYTHMS], documents[MATERIALS]
    _known(rhythms, ("entries", "demands"))
    _known(materials, ("files",))
    entries, demands = _items(rhythms, "entries", RhythmCard), _items(rhythms, "demands", DemandCard)
    listed = _items(materials, "files", Material)
    faults += [fault for d in (*documents.values(), *cards) for fault in d.faults]
    if organization is None:
        return None, faults
    return Package(organization, people, skills, listed, entries, demands, dict(files)), faults


def is_card(path: str) -> bool:
    """Whether a file is a role card."""
    return path.startswith("people/") and path.endswith(".yaml") and path.count("/") == 1


def _card(document: Document) -> RoleCard | None:
    card = convert(document, document.data, RoleCard, ())
    if card is not None and document.file != f"people/{card.id}.yaml":
        document.fault(("id",), f"The id `{card.id}` must be the file's name.")
    return card


def _provenance(data: bytes) -> Iterator[Fault]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        yield Fault(PROVENANCE, 1, "The file must be a JSON object.")


def _packs(files: Mapping[str, bytes], faults: list[Fault]) -> Iterator[SkillPack]:
    by_name: dict[str, list[str]] = {}
    for path in sorted(files):
        parts = path.split("/", 2)
        if parts[0] == "skills" and len(parts) == 3:
            by_name.setdefault(parts[1], []).append(path)
    for name, paths in by_name.items():
        file = f"skills/{name}/SKILL.md"
        if file not in files:
            faults.append(Fault(file, 0, f"The skill pack `{name}` has no SKILL.md."))
            continue
        front = _front_matter(file, files[file])
        if not front.faults and front.data.get("name") != name:
            front.fault(("name",), f"The pack's `name` must be that of its folder, `{name}`.")
        faults.extend(front.faults)
        yield SkillPack(name, str(front.data.get("description", "")), tuple(paths))


def _front_matter(file: str, data: bytes) -> Document:
    head, fence, _ = data.removeprefix(b"---\n").partition(b"\n---")
    if not data.startswith(b"---\n") or not fence:
        return Document(
            file, {}, {(): 1}, [Fault(file, 1, "The file must begin with front matter between `---` lines.")]
        )
    # A leading line stands for the opening fence, so that lines are counted as in the file.
    return read_document(file, b"\n" + head)


# -- values to text ---------------------------------------------------------------------------------------------------


def dump(value: Any) -> bytes:
    """Return the YAML text of plain data: keys in the order given, two spaces, UTF-8."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return text.encode()


class _Dumper(yaml.SafeDumper):
    """Indents lists under their key, as people write them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


@lru_cache(maxsize=64)
def _fields(type_: type[msgspec.Struct]) -> tuple[tuple[str, bool, Any], ...]:
    """(name, required, default) of a struct's fields: asking for them is slow."""
    return tuple((field.name, field.required, field.default) for field in msgspec.structs.fields(type_))


def _short(struct: msgspec.Struct) -> dict[str, Any]:
    """Return a struct's fields that differ from their defaults, in declared order."""
    found = {}
    for name, required, default in _fields(type(struct)):
        value = getattr(struct, name)
        if required or value != default:
            found[name] = msgspec.to_builtins(value)
    return found


# Generation renders a package once a stage, most of it as before: what has not changed is not written out again.


@lru_cache(maxsize=8)
def _organization_text(organization: Organization) -> bytes:
    rules = organization.calendar
    calendar = {
        "zone": rules.zone,
        "opens": f"{rules.opens // 60:02d}:{rules.opens % 60:02d}",
        "closes": f"{rules.closes // 60:02d}:{rules.closes % 60:02d}",
        "weekdays": [WEEKDAYS[day] for day in rules.weekdays],
        "holidays": list(rules.holidays),
        **({"always_open": True} if rules.always_open else {}),
    }
    head = _short(organization)
    lists = {key: [_short(item) for item in getattr(organization, key)] for key in _LISTS}
    for client, card in zip(lists["clients"], organization.clients, strict=True):
        client["contacts"] = [_short(contact) for contact in card.contacts]
    settings = {key: head[key] for key in SETTINGS if key in head}
    for key in ("pace", "memory"):
        if key in settings:
            settings[key] = _short(getattr(organization, key))
    return dump({**settings, "calendar": calendar, **lists})


@lru_cache(maxsize=1024)
def _card_text(card: RoleCard) -> bytes:
    return dump(_short(card))


@lru_cache(maxsize=8)
def _rhythms_text(rhythms: tuple[RhythmCard, ...], demands: tuple[DemandCard, ...]) -> bytes:
    return dump({"entries": [_short(e) for e in rhythms], "demands": [_short(d) for d in demands]})


@lru_cache(maxsize=8)
def _materials_text(materials: tuple[Material, ...]) -> bytes:
    return dump({"files": [_short(m) for m in materials]})


def render(
    organization: Organization,
    people: tuple[RoleCard, ...],
    rhythms: tuple[RhythmCard, ...],
    demands: tuple[DemandCard, ...],
    materials: tuple[Material, ...],
) -> dict[str, bytes]:
    """Return the settings files of a package: what `parse` reads back to the same values."""
    return {
        ORGANIZATION: _organization_text(organization),
        **{f"people/{card.id}.yaml": _card_text(card) for card in people},
        RHYTHMS: _rhythms_text(rhythms, demands),
        MATERIALS: _materials_text(materials),
    }
