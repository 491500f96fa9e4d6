"""The offline professional: deterministic answers to a model's requests, from their messages alone (DESIGN 10)."""
