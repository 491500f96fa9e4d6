"""Where every page is, by name: pages link to each other without importing each other."""

from __future__ import annotations

from urllib.parse import quote, urlencode

PATHS = {
    "offices": "/offices",
    "floor": "/office/{office}/floor",
    "people": "/office/{office}/people",
    "person": "/office/{office}/person/{person}",
    "session": "/office/{office}/session/{activation}",
    "work": "/office/{office}/work",
    "delegation": "/office/{office}/work/{delegation}",
    "files": "/office/{office}/files",
    "file": "/office/{office}/file/{file}",
    "chat": "/office/{office}/chat",
    "mail": "/office/{office}/mail",
    "meetings": "/office/{office}/meetings",
    "calendar": "/office/{office}/calendar",
    "numbers": "/office/{office}/numbers",
    "health": "/office/{office}/health",
}


def address(path: str, **given: object) -> str:
    """Return an address from a path: what is no parameter of the path, and not empty, becomes its query."""
    query = {}
    for name, value in given.items():
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
        elif str(value):
            query[name] = str(value)
    return f"{path}?{urlencode(query)}" if query else path
