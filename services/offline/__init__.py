"""The offline professional: deterministic answers to what a model would be asked, from the messages alone (DESIGN 10)."""
