"""What came from what: a file version between what it was made from and what was made from it, as a drawing. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from orchestrator.web.ui.drawing import Node, Picture, fit, node, rect, words
from simulator.office import Office
from simulator.records import FileRef

MOST_A_LAYER = 12
MOST_LAYERS = 3
_W, _H, _GAP_X, _GAP_Y = 210.0, 46.0, 60.0, 12.0


class Spot(msgspec.Struct, frozen=True):
    """A file version in the graph. `layer` is 0 for the one asked about, below 0 for what it came from, above for what came
    of it. `left_out` counts what a layer has no room for: then `ref` is no file."""

    ref: FileRef
    layer: int
    path: str
    level: str
    left_out: int = 0


class Graph(msgspec.Struct, frozen=True):
    """The spots by layer, and who came from whom."""

    spots: tuple[Spot, ...]
    edges: tuple[tuple[FileRef, FileRef], ...]


def made_from(office: Office) -> Mapping[FileRef, tuple[FileRef, ...]]:
    """Return, for every version that something was made from, what that is, in order. A new version comes from the last."""
    made: dict[FileRef, list[FileRef]] = {}
    for file in office.files.values():
        for v in file.versions:
            here = FileRef(file.id, v.number)
            for source in sources(office, here):
                made.setdefault(source, []).append(here)
    return {ref: tuple(sorted(found)) for ref, found in made.items()}


def sources(office: Office, ref: FileRef) -> tuple[FileRef, ...]:
    """Return what a version was made from: its sources, and the version before it."""
    file = office.files[ref.file]
    found = set(file.versions[ref.version - 1].sources)
    if ref.version > 1:
        found.add(FileRef(ref.file, ref.version - 1))
    found.discard(ref)
    return tuple(sorted(r for r in found if r.file in office.files and r.version <= len(office.files[r.file].versions)))


def graph(office: Office, ref: FileRef) -> Graph:
    """Return what a version came from and what came of it, three layers in each direction."""
    children = made_from(office)
    spots = {ref: _spot(office, ref, 0)}
    edges: set[tuple[FileRef, FileRef]] = set()
    left: list[Spot] = []
    for direction in (-1, 1):
        layer = [ref]
        for depth in range(1, MOST_LAYERS + 1):
            found: list[FileRef] = []
            for one in layer:
                around = sources(office, one) if direction < 0 else children.get(one, ())
                for other in around:
                    if other not in spots and other not in found:
                        found.append(other)
            shown = found[:MOST_A_LAYER]
            spots |= {other: _spot(office, other, direction * depth) for other in shown}
            if len(found) > len(shown):
                left.append(Spot(FileRef("", 0), direction * depth, "", "", len(found) - len(shown)))
            layer = shown
    for one in spots:
        edges.update((source, one) for source in sources(office, one) if source in spots)
    return Graph((*spots.values(), *left), tuple(sorted(edges)))


def _spot(office: Office, ref: FileRef, layer: int) -> Spot:
    file = office.files[ref.file]
    return Spot(ref, layer, f"{file.space}/{file.path}", file.versions[ref.version - 1].level)


def draw(found: Graph, address: Callable[[FileRef], str]) -> Picture:
    """Return the drawing of a graph, from left to right."""
    layers = sorted({s.layer for s in found.spots})
    by_layer = {layer: [s for s in found.spots if s.layer == layer] for layer in layers}
    tall = max(len(group) for group in by_layer.values())
    height = tall * (_H + _GAP_Y) + _GAP_Y
    places: dict[FileRef, tuple[float, float]] = {}
    nodes: list[Node] = []
    for column, layer in enumerate(layers):
        group = by_layer[layer]
        top = (height - len(group) * (_H + _GAP_Y)) / 2
        for row, spot in enumerate(group):
            x, y = 4 + column * (_W + _GAP_X), top + row * (_H + _GAP_Y) + _GAP_Y / 2
            if spot.left_out:
                nodes.append(words(f"and {spot.left_out} more", x + 10, y + 27, "about"))
                continue
            places[spot.ref] = (x, y)
            nodes.append(_box(spot, x, y, address))
    lines = [_edge(places[a], places[b]) for a, b in found.edges if a in places and b in places]
    return Picture(8 + len(layers) * (_W + _GAP_X) - _GAP_X, height, (*lines, *nodes))


def _box(spot: Spot, x: float, y: float, address: Callable[[FileRef], str]) -> Node:
    folder, _, name = spot.path.rpartition("/")
    kind = f"spot {spot.level}{' here' if spot.layer == 0 else ''}"
    inside = [node("title", f"{spot.path}, version {spot.ref.version}, {spot.level}"), rect(x, y, _W, _H, kind, 8),
              words(fit(name, _W - 50, 12.5), x + 10, y + 19, "name"),
              words(f"v{spot.ref.version}", x + _W - 10, y + 19, "about", "end"),
              words(fit(folder, _W - 20, 11), x + 10, y + 36, "about")]  # fmt: skip
    return node("a", inside, f"{spot.ref.file}@{spot.ref.version}", href=address(spot.ref), aria_label=f"{spot.path} version {spot.ref.version}")


def _edge(a: tuple[float, float], b: tuple[float, float]) -> Node:
    (x1, y1), (x2, y2) = (a[0] + _W, a[1] + _H / 2), (b[0], b[1] + _H / 2)
    if x2 <= x1:
        # Both stand in one column, or the other way round: the line leaves and arrives at the middle.
        (x1, y1), (x2, y2) = (a[0] + _W / 2, a[1] + _H), (b[0] + _W / 2, b[1])
        return node("path", d=f"M {x1:.0f} {y1:.0f} L {x2:.0f} {y2:.0f}", class_="edge")
    bend = (x2 - x1) / 2
    path = f"M {x1:.0f} {y1:.0f} C {x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
    return node("path", d=path, class_="edge")
