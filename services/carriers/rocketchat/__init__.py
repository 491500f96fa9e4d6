"""The chat carrier on a Rocket.Chat server, through its REST interface."""
