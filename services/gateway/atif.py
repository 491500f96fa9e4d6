"""ATIF v1.8, the Agent Trajectory Interchange Format: its records, and what a trajectory must satisfy.

Source: Harbor's RFC 0001 and its validator (harbor 0.25). Unknown fields are refused; what is ours goes under `extra`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from simulator.errors import UsageError

SCHEMA_VERSION = "ATIF-v1.8"
_VERSIONS = frozenset(f"ATIF-v1.{minor}" for minor in range(9))
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_SOUNDS = frozenset(f"audio/{kind}" for kind in ("wav", "mpeg", "mp4", "aac", "ogg", "flac", "webm", "aiff"))
_AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")

Extra = dict[str, Any]


class _Record(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What all records share: frozen, no unknown fields, and what is not known is left out."""


class MediaSource(_Record, frozen=True):
    """Where an image or a sound lies: a path relative to the trajectory's folder, or a URL."""

    media_type: str
    path: str
    duration_sec: float | None = None


class ContentPart(_Record, frozen=True):
    """A part of a message with more than text in it."""

    type: Literal["text", "image", "audio"]
    text: str | None = None
    source: MediaSource | None = None


Content = str | tuple[ContentPart, ...]


class ToolCall(_Record, frozen=True):
    """One call of a tool. Its id is unique within its step."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: Extra | None = None


class SubagentTrajectoryRef(_Record, frozen=True):
    """Points to the trajectory of somebody work was delegated to: embedded by id, or in a file of its own."""

    trajectory_id: str | None = None
    session_id: str | None = None
    trajectory_path: str | None = None
    extra: Extra | None = None


class ObservationResult(_Record, frozen=True):
    """What came of a call; `source_call_id` names a call of the same step."""

    source_call_id: str | None = None
    content: Content | None = None
    subagent_trajectory_ref: tuple[SubagentTrajectoryRef, ...] | None = None
    extra: Extra | None = None


class Observation(_Record, frozen=True):
    """What the surroundings answered to a step."""

    results: tuple[ObservationResult, ...]


class Metrics(_Record, frozen=True):
    """Tokens as the provider counts them, `prompt_tokens` including the cached; money in dollars."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    completion_token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    extra: Extra | None = None


class Step(_Record, frozen=True):
    """One message of the conversation, an agent's with its calls, what came of them, and what it used."""

    step_id: int
    source: Literal["system", "user", "agent"]
    message: Content
    timestamp: str | None = None
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: Extra | None = None


class Agent(_Record, frozen=True):
    """Who acted. `tool_definitions` are OpenAI function definitions."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: tuple[dict[str, Any], ...] | None = None
    extra: Extra | None = None


class FinalMetrics(_Record, frozen=True):
    """Sums over all steps."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: Extra | None = None


class Trajectory(_Record, frozen=True):
    """A whole run of one agent."""

    agent: Agent
    steps: tuple[Step, ...]
    schema_version: str | None = None
    session_id: str | None = None
    trajectory_id: str | None = None
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: Extra | None = None
    subagent_trajectories: tuple[Trajectory, ...] | None = None


def encode(trajectory: Trajectory) -> bytes:
    """Return the trajectory as JSON. Raises `UsageError` naming every fault; nothing that is invalid is written."""
    _refuse(faults(trajectory))
    return msgspec.json.encode(trajectory)


def decode(data: bytes) -> Trajectory:
    """Read a trajectory from JSON. Raises `UsageError` saying what is wrong with it."""
    try:
        trajectory = msgspec.json.decode(data, type=Trajectory)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"this is no ATIF trajectory: {error}") from error
    _refuse(faults(trajectory))
    return trajectory


def faults(trajectory: Trajectory) -> tuple[str, ...]:
    """Return everything that the types cannot say and the format asks for, as complete sentences."""
    return tuple(_trajectory_faults(trajectory, ""))


def _refuse(found: tuple[str, ...]) -> None:
    if found:
        raise UsageError("\n".join(("this is no valid ATIF trajectory:", *(f"  - {fault}" for fault in found))))


def _trajectory_faults(trajectory: Trajectory, where: str) -> Iterator[str]:
    version = trajectory.schema_version
    if version is not None and version not in _VERSIONS:
        yield f"{where}schema_version is {version!r}, and the newest known is {SCHEMA_VERSION}."
    if not trajectory.steps:
        yield f"{where}there is no step."
    for at, step in enumerate(trajectory.steps):
        if step.step_id != at + 1:
            yield f"{where}step {at + 1} has the step_id {step.step_id}; steps count from 1 without gaps."
        yield from _step_faults(step, f"{where}step {at + 1}: ")
    final = trajectory.final_metrics
    if final is not None and final.total_steps is not None and final.total_steps < 0:
        yield f"{where}total_steps is negative."
    seen: set[str] = set()
    for at, inner in enumerate(trajectory.subagent_trajectories or ()):
        name = inner.trajectory_id
        if name is None or name in seen:
            yield f"{where}sub-agent {at + 1} needs a trajectory_id of its own."
        seen.add(name or "")
        yield from _trajectory_faults(inner, f"{where}sub-agent {at + 1}, ")


def _step_faults(step: Step, where: str) -> Iterator[str]:
    if step.timestamp is not None and not _is_time(step.timestamp):
        yield f"{where}the timestamp {step.timestamp!r} is not in ISO 8601."
    if step.source != "agent":
        for name in _AGENT_ONLY:
            if getattr(step, name) is not None:
                yield f"{where}{name} belongs to agents, and the source is {step.source}."
    if step.llm_call_count is not None and step.llm_call_count < 0:
        yield f"{where}llm_call_count is negative."
    if step.llm_call_count == 0 and step.source == "agent":
        for name in ("metrics", "reasoning_content"):
            if getattr(step, name) is not None:
                yield f"{where}{name} has no place where no model was called (llm_call_count 0)."
    yield from _content_faults(step.message, where)
    calls = [call.tool_call_id for call in step.tool_calls or ()]
    for result in step.observation.results if step.observation else ():
        if result.source_call_id is not None and result.source_call_id not in calls:
            yield f"{where}a result names the call {result.source_call_id!r}, which the step does not make."
        for ref in result.subagent_trajectory_ref or ():
            if ref.trajectory_id is None and ref.trajectory_path is None:
                yield f"{where}a reference to a sub-agent has neither trajectory_id nor trajectory_path."
        yield from _content_faults(result.content, where)


def _content_faults(content: Content | None, where: str) -> Iterator[str]:
    if content is None or isinstance(content, str):
        return
    for part in content:
        if part.type == "text":
            if part.text is None or part.source is not None:
                yield f"{where}a part of type text holds text and no source."
            continue
        known = _IMAGES if part.type == "image" else _SOUNDS
        if part.text is not None or part.source is None:
            yield f"{where}a part of type {part.type} holds a source and no text."
        elif part.source.media_type not in known:
            yield f"{where}{part.source.media_type!r} is no media type of a part of type {part.type}."
        elif part.source.duration_sec is not None and (part.type == "image" or part.source.duration_sec < 0):
            yield f"{where}duration_sec is for sounds, and at least 0."


def _is_time(text: str) -> bool:
    try:
        dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return False
    return True
