"""What an independent program (PyPI `rocketchat-api`) does with a server: run in an environment of its own.

Arguments: address, username, password, a folder to write in. Prints what it saw as JSON.
"""

import json
import sys
from pathlib import Path

from rocketchat_API.rocketchat import RocketChat  # type: ignore[import-not-found]


def main(address: str, username: str, password: str, folder: str) -> None:
    """Log in, list, post, answer, upload, react, read back."""
    chat = RocketChat(username, password, server_url=address)
    channels = list(chat.channels_list(count=2))
    desk = next(channel for channel in channels if channel["name"] == "front-desk")["_id"]
    posted = chat.chat_post_message("from elsewhere", room_id=desk)["message"]
    chat.chat_send_message({"rid": desk, "msg": "an answer", "tmid": posted["_id"]})
    path = Path(folder) / "notes.txt"
    path.write_text("brought by another program")
    file = chat.rooms_media(desk, str(path))["file"]
    confirmed = chat.rooms_media_confirm(desk, file["_id"], msg="see the notes")["message"]
    chat.chat_react(confirmed["_id"], emoji="tada")
    chat.chat_update(desk, posted["_id"], "from elsewhere, edited")
    synced = chat.chat_sync_messages(desk, "1970-01-01T00:00:00.000Z")["result"]["updated"]
    seen = {
        "version": chat.info()["version"],
        "users": sorted(user["username"] for user in chat.users_list(count=2)),
        "channels": sorted(channel["name"] for channel in channels),
        "history": [[m["u"]["username"], m["msg"]] for m in chat.channels_history(desk, count=50)],
        "synced": sorted(m["_id"] for m in synced) == sorted({m["_id"] for m in synced}),
        "reactions": chat.chat_get_message(confirmed["_id"])["message"]["reactions"],
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
