"""ATIF v1.8: what we write is valid, and what is not valid is refused with every reason, as Harbor's validator would."""

from __future__ import annotations

import importlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway import atif
from simulator.errors import UsageError
from tests.gateway.stories import HARBOR


def told(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a small trajectory; steps count themselves."""
    numbered = [{"step_id": at, "source": "user", "message": "x", **step} for at, step in enumerate(steps, 1)]
    return {"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": numbered, **more}


CALLS = [{"tool_call_id": "c1", "function_name": "run", "arguments": {}}]
IMAGE = {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}
SOUND = {"type": "audio", "source": {"media_type": "audio/wav", "path": "a.wav", "duration_sec": 1.5}}
SUB = told({}, trajectory_id="sub-1")

VALID: list[dict[str, Any]] = [
    told({}),
    told(
        {"source": "agent", "tool_calls": CALLS, "observation": {"results": [{"source_call_id": "c1", "content": "r"}]}}
    ),
    told({"source": "system", "observation": {"results": [{"content": "r"}]}}),
    told({"message": [{"type": "text", "text": "t"}, IMAGE, SOUND]}),
    told({"timestamp": "2026-01-05T09:00:00Z"}, {"source": "agent", "reasoning_effort": 0.5, "llm_call_count": 1}),
    told({"source": "agent", "llm_call_count": 0}),
    told({}, subagent_trajectories=[SUB], notes="n", final_metrics={"total_steps": 1, "total_cost_usd": 0.1}),
    told({"source": "agent", "metrics": {"prompt_tokens": 1, "completion_token_ids": [1, 2], "logprobs": [-0.5]}}),
    told({"extra": {"any": ["thing", {"at": "all"}]}}),
    told({"observation": {"results": [{"subagent_trajectory_ref": [{"trajectory_id": "sub-1"}]}]}}),
]

INVALID: list[tuple[dict[str, Any], str]] = [
    (told(), "there is no step"),
    (told({}, schema_version="ATIF-v2.0"), "schema_version"),
    (told({"step_id": 2}), "step_id 2"),
    (told({}, {"step_id": 1}), "step_id 1"),
    (told({"timestamp": "yesterday"}), "ISO 8601"),
    (told({"tool_calls": CALLS}), "tool_calls belongs to agents"),
    (told({"metrics": {}}), "metrics belongs to agents"),
    (told({"source": "system", "model_name": "m"}), "model_name belongs to agents"),
    (told({"source": "agent", "llm_call_count": 0, "metrics": {}}), "no model was called"),
    (told({"source": "agent", "llm_call_count": -1}), "llm_call_count is negative"),
    (
        told({"source": "agent", "observation": {"results": [{"source_call_id": "c9"}]}}),
        "'c9', which the step does not",
    ),
    (told({"message": [{"type": "text"}]}), "holds text and no source"),
    (told({"message": [{"type": "image", "text": "t"}]}), "holds a source and no text"),
    (told({"message": [{**SOUND, "type": "image"}]}), "no media type of a part of type image"),
    (told({"observation": {"results": [{"subagent_trajectory_ref": [{"session_id": "s"}]}]}}), "neither trajectory_id"),
    (told({}, subagent_trajectories=[told({})]), "needs a trajectory_id"),
    (told({}, subagent_trajectories=[SUB, SUB]), "of its own"),
    (told({}, subagent_trajectories=[{**told(), "trajectory_id": "s"}]), "sub-agent 1, there is no step"),
    (told({}, final_metrics={"total_steps": -1}), "total_steps is negative"),
    (told({}, surprise=1), "surprise"),
    (told({"surprise": 1}), "surprise"),
    (told({"source": "judge"}), "source"),
    (told({"source": "agent", "tool_calls": [{**CALLS[0], "arguments": "{}"}]}), "arguments"),
    ({"steps": []}, "agent"),
]


def harbor_accepts(document: dict[str, Any]) -> bool:
    pydantic, harbor = importlib.import_module("pydantic"), importlib.import_module("harbor.models.trajectories")
    try:
        harbor.Trajectory.model_validate_json(json.dumps(document))
    except pydantic.ValidationError:
        return False
    return True


@pytest.mark.parametrize("document", VALID, ids=lambda d: str(d["steps"])[:60])
def test_a_valid_trajectory_survives_reading_and_writing(document: dict[str, Any]) -> None:
    trajectory = atif.decode(json.dumps(document).encode())
    assert json.loads(atif.encode(trajectory)) == document, "nothing is added, nothing is lost"


@pytest.mark.parametrize(("document", "words"), INVALID, ids=[words for _, words in INVALID])
def test_an_invalid_trajectory_is_refused_with_the_reason(document: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        atif.decode(json.dumps(document).encode())


def test_every_fault_is_told_at_once() -> None:
    document = told({"timestamp": "?"}, {"step_id": 9, "model_name": "m"})
    with pytest.raises(UsageError) as refused:
        atif.decode(json.dumps(document).encode())
    assert str(refused.value).count("\n  - ") == 3


@pytest.mark.parametrize("data", [b"", b"nothing", b"\xff", b"[]", b"[" * 10_000, b"null"])
def test_bytes_that_are_no_trajectory(data: bytes) -> None:
    with pytest.raises(UsageError, match="no ATIF trajectory"):
        atif.decode(data)


def test_nothing_invalid_is_written() -> None:
    good = atif.decode(json.dumps(VALID[0]).encode())
    with pytest.raises(UsageError, match="no step"):
        atif.encode(msgspec.structs.replace(good, steps=()))


@pytest.mark.skipif(not HARBOR, reason="needs the package harbor, which wants Python 3.12")
def test_harbor_judges_as_we_do() -> None:
    assert [document for document in VALID if not harbor_accepts(document)] == []
    assert [words for document, words in INVALID if harbor_accepts(document)] == []


scalars = st.none() | st.integers(-2, 3) | st.text(max_size=3) | st.just("c1")
loose_steps = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "step_id": st.integers(0, 3),
            "source": st.sampled_from(["user", "system", "agent", "other"]),
            "timestamp": st.sampled_from(["2026-01-05", "2026-01-05T10:00:00+01:00", "no", ""]),
            "llm_call_count": st.integers(-1, 2), "reasoning_content": st.just("r"), "tool_calls": st.just(CALLS),
            "message": st.just("m") | st.just([IMAGE]) | st.just([{"type": "text", "text": "t", "source": None}]),
            "observation": st.fixed_dictionaries({"results": st.lists(
                st.fixed_dictionaries({}, optional={"source_call_id": scalars, "content": st.just("r")}), max_size=2
            )}),
        },
    ),
    max_size=3,
)  # fmt: skip


@pytest.mark.skipif(not HARBOR, reason="needs the package harbor, which wants Python 3.12")
@given(steps=loose_steps)
def test_harbor_judges_as_we_do_whatever_is_told(steps: list[dict[str, Any]]) -> None:
    document = told(*steps)
    try:
        atif.decode(json.dumps(document).encode())
        ours = True
    except UsageError:
        ours = False
    assert ours == harbor_accepts(document)
