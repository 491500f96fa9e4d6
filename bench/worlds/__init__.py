"""Language environments: a model, or declared effects, answers an agent's tool calls; faults and verdicts are by code."""
