"""A person at a chat program of another maker (PyPI `rocketchat-api`), in an environment of its own.

Arguments: address, username, password, whom to write to, and what.
"""

import sys

from rocketchat_API.rocketchat import RocketChat  # type: ignore[import-not-found]

address, username, password, other, text = sys.argv[1:]
chat = RocketChat(username, password, server_url=address)
room = chat.call_api_post("im.create", username=other)["room"]["_id"]
print(chat.chat_post_message(text, room_id=room)["message"]["_id"])
