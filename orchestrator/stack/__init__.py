"""The office on real servers: bringing the Compose stack up and down, and saying what is not ready and why."""
