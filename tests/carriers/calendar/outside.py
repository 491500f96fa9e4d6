"""What an independent calendar program does, by the `caldav` client in an environment of its own.

Run by `.clients/bin/python`; knows nothing of this project. Reads steps as JSON on standard input, writes what it saw.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Any

import caldav  # type: ignore[import-not-found]  # lives in an environment of its own


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def run(step: dict[str, Any], calendar: Any) -> Any:
    what = step["do"]
    if what == "add":
        return str(calendar.add_event(step["ics"]).url)
    if what == "new":
        event = calendar.add_event(
            dtstart=when(step["start"]),
            dtend=when(step["end"]),
            summary=step["summary"],
            uid=step["uid"],
            **step.get("more", {}),
        )
        return event.id
    if what == "list":
        found = []
        for event in calendar.events():
            item = event.icalendar_component
            found.append(
                {
                    "uid": str(item["uid"]),
                    "summary": str(item["summary"]),
                    "start": item["dtstart"].dt.isoformat(),
                    "status": str(item.get("status", "")),
                    "url": str(event.url),
                    "partstat": {str(a): str(a.params.get("PARTSTAT", "")) for a in many(item.get("attendee"))},
                }
            )
        return sorted(found, key=lambda e: e["uid"])
    if what == "between":
        events = calendar.search(start=when(step["start"]), end=when(step["end"]), event=True, expand=True)
        return sorted(e.icalendar_component["dtstart"].dt.isoformat() for e in events)
    event = calendar.event_by_uid(step["uid"])
    item = event.icalendar_component
    if what == "move":
        length = item["dtend"].dt - item["dtstart"].dt
        start = when(step["start"])
        for name, value in (("dtstart", start), ("dtend", start + length)):
            del item[name]
            item.add(name, value)
        event.save()
    elif what == "answer":
        for attendee in many(item.get("attendee")):
            if str(attendee).lower() == f"mailto:{step['who']}".lower():
                attendee.params["PARTSTAT"] = step["partstat"]
        event.save()
    elif what == "delete":
        event.delete()
    return what


def many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def main() -> None:
    given = json.load(sys.stdin)
    answers = []
    with caldav.DAVClient(url=given["url"], username=given["user"], password=given["password"]) as client:
        calendars = {str(c.url).rstrip("/").rsplit("/", 1)[-1]: c for c in client.principal().calendars()}
        for step in given["steps"]:
            answers.append(run(step, calendars[step.get("calendar", given["calendar"])]))
    json.dump({"calendars": sorted(calendars), "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
