"""What happens in an office as spans: model calls, tool calls, activations, delegations.

    invoke_workflow bank-reconciliation          a delegation, from its opening to its acceptance or withdrawal
      invoke_agent assistant                     each segment of it
        chat gpt-5                               each model call
        execute_tool bash                        each tool call
    invoke_agent daniel                          an activation of a principal or client; a meeting is one too
      chat gpt-5
      execute_tool delegate

Names and attributes are those of the OpenTelemetry semantic conventions for generative AI; what they lack is
`officetown.*`. A tool's span lasts from the answer that asked for it until the request that carries its result, or the
landing: the office's own tools take no time of their own, a sandbox's command does.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import msgspec
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.events import (
    ActivationLanded,
    ActivationStarted,
    DelegationOpened,
    DelegationWithdrawn,
    Event,
    QuestionAsked,
    RoundOpened,
    WorkReviewed,
    WorkSubmitted,
)
from simulator.office import Office
from simulator.ports import Model
from simulator.records import Delegation, Running

ASSISTANT = "assistant:"
"""How an assistant's session begins; the delegation's id follows."""
ENDED_WELL = ("done", "withdrawn")


class Pending(msgspec.Struct):
    """Tool calls that an answer asked for and whose results have not been carried by a request yet: (call id, span)."""

    calls: list[tuple[str, Span]]


class OfficeSpans:
    """The spans of one office's run that are open. An engine `Observer`; `Traced` asks it for parents. Thread-safe.

    A model call may come before its activation's event is told, or long after it, in another process: whoever needs a
    span first opens it, and the event names it.
    """

    def __init__(self, tracer: Tracer, office: str) -> None:
        self._tracer = tracer
        self._office = office
        self._lock = threading.Lock()
        self._activations: dict[str, Span] = {}
        self._delegations: dict[str, Span] = {}
        self._pending: dict[tuple[str, str], Pending] = {}

    # -- as an observer

    def event(self, event: Event, office: Office) -> None:
        """Open, name or end the spans that an event is about."""
        payload = event.payload
        with self._lock:
            if isinstance(payload, ActivationStarted):
                self._started(payload.running, office)
            elif isinstance(payload, ActivationLanded):
                self._landed(payload)
            elif isinstance(payload, DelegationOpened):
                self._opened(payload.delegation, event.activation)
            elif isinstance(payload, RoundOpened | QuestionAsked | WorkSubmitted | WorkReviewed | DelegationWithdrawn):
                self._moved(payload, event)

    def _started(self, running: Running, office: Office) -> None:
        delegation = running.ref if running.kind == "segment" else ""
        span = self._activation(running.id, delegation)
        agent = {"segment": "assistant", "meeting": "meeting"}.get(running.kind, running.actor)
        span.update_name(f"invoke_agent {agent}")
        span.set_attribute("gen_ai.agent.name", agent)
        span.set_attribute("gen_ai.agent.id", running.actor)
        session = office.people[running.actor].session if running.actor in office.people else ""
        session = session or (f"{ASSISTANT}{delegation}" if delegation else "")
        if session:
            span.set_attribute("gen_ai.conversation.id", session)
        span.set_attribute("officetown.activation.kind", running.kind)
        span.set_attribute("officetown.sim_time", running.at)
        span.set_attribute("officetown.stimuli", [s.kind for s in running.stimuli])

    def _landed(self, landed: ActivationLanded) -> None:
        for key in [key for key in self._pending if key[0] == landed.id]:
            self._finish(self._pending.pop(key), ())
        span = self._activations.pop(landed.id, None)
        if span is None:
            return
        span.set_attribute("officetown.turns", landed.turns)
        span.set_attribute("officetown.outcome", landed.outcome)
        if landed.outcome not in ENDED_WELL:
            span.set_attribute("error.type", landed.outcome)
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def _opened(self, delegation: Delegation, activation: str) -> None:
        span = self._delegation(delegation.id)
        work = delegation.work or "delegation"
        span.update_name(f"invoke_workflow {work}")
        span.set_attribute("gen_ai.workflow.name", work)
        span.set_attribute("officetown.principal", delegation.principal)
        span.set_attribute("officetown.matter", delegation.matter)
        opener = self._activations.get(activation)
        if opener is not None:
            span.add_link(opener.get_span_context())

    def _moved(
        self, payload: RoundOpened | QuestionAsked | WorkSubmitted | WorkReviewed | DelegationWithdrawn, event: Event
    ) -> None:
        span = self._delegation(payload.delegation)
        at = {"officetown.sim_time": event.sim_time}
        ended = ""
        if isinstance(payload, RoundOpened):
            span.add_event("round opened", {**at, "officetown.round": payload.number})
        elif isinstance(payload, QuestionAsked):
            span.add_event("question asked", at)
        elif isinstance(payload, WorkSubmitted):
            span.add_event("work submitted", {**at, "officetown.round": payload.round})
        elif isinstance(payload, WorkReviewed):
            span.add_event("work reviewed", {**at, "officetown.decision": payload.review.decision})
            ended = "accepted" if payload.review.decision == "accept" else ""
        else:
            ended = "withdrawn"
        if ended:
            span.set_attribute("officetown.outcome", ended)
            span.end()
            del self._delegations[payload.delegation]

    # -- for the model's wrapper

    def parent(self, request: ModelRequest) -> Context:
        """Return the context of the activation that makes a call."""
        delegation = request.session.removeprefix(ASSISTANT) if request.session.startswith(ASSISTANT) else ""
        with self._lock:
            return set_span_in_context(self._activation(request.call[0], delegation), Context())

    def asked(self, request: ModelRequest) -> None:
        """End the spans of the tools whose results a request carries."""
        with self._lock:
            pending = self._pending.pop((request.call[0], request.session), None)
            if pending is not None:
                self._finish(pending, request.messages)

    def answered(self, request: ModelRequest, response: ModelResponse, parent: Context) -> None:
        """Begin the spans of the tools that an answer asks for."""
        calls = [(call.id, self._tool(call.name, call.id, parent)) for call in response.tool_calls]
        if calls:
            with self._lock:
                self._pending[request.call[0], request.session] = Pending(calls)

    def close(self) -> None:
        """End what is open: the run stopped meanwhile, and goes on another time."""
        with self._lock:
            for pending in self._pending.values():
                self._finish(pending, ())
            for span in (*self._activations.values(), *self._delegations.values()):
                span.set_attribute("officetown.unfinished", True)
                span.end()
            self._pending.clear()
            self._activations.clear()
            self._delegations.clear()

    # -- spans

    def _activation(self, name: str, delegation: str) -> Span:
        span = self._activations.get(name)
        if span is None:
            context = set_span_in_context(self._delegation(delegation), Context()) if delegation else Context()
            about = {"gen_ai.operation.name": "invoke_agent", "officetown.activation": name, "officetown.office": self._office}
            span = self._tracer.start_span("invoke_agent", context, SpanKind.INTERNAL, about)
            self._activations[name] = span
        return span

    def _delegation(self, name: str) -> Span:
        span = self._delegations.get(name)
        if span is None:
            about = {"gen_ai.operation.name": "invoke_workflow", "officetown.delegation": name, "officetown.office": self._office}
            span = self._tracer.start_span("invoke_workflow", Context(), SpanKind.INTERNAL, about)
            self._delegations[name] = span
        return span

    def _tool(self, name: str, call: str, parent: Context) -> Span:
        about = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call,
            "gen_ai.tool.type": "function",
        }  # fmt: skip
        return self._tracer.start_span(f"execute_tool {name}", parent, SpanKind.INTERNAL, about)

    def _finish(self, pending: Pending, messages: Sequence[Message]) -> None:
        results = {m.tool_call_id: m.content for m in messages if m.role == "tool"}
        for call, span in pending.calls:
            if results.get(call, "").startswith(REFUSED):
                span.set_attribute("error.type", "refused")
                span.set_status(Status(StatusCode.ERROR))
            span.end()


REFUSED = '{"error":'
"""How a tool's answer begins that refuses: canonical JSON, in which `error` is the first key there is."""


class Traced:
    """A `Model` whose calls are spans `chat MODEL`. What it answers is what `model` answers, faults included.

    `name` is the model asked for, `provider` the well-known name of who serves it; `spans` gives the calls their parents
    and makes spans of their tool calls.
    """

    def __init__(
        self, model: Model, tracer: Tracer, spans: OfficeSpans | None = None, *, name: str = "", provider: str = "openai"
    ) -> None:
        self._model = model
        self._tracer = tracer
        self._spans = spans
        self._name = name
        self._provider = provider

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer, or raise what the model raised."""
        parent = self._spans.parent(request) if self._spans is not None else Context()
        if self._spans is not None:
            self._spans.asked(request)
        span = self._tracer.start_span(f"chat {self._name}".strip(), parent, SpanKind.CLIENT, self._about(request))
        try:
            response = self._model.complete(request)
        except BaseException as fault:  # whatever it was, it ends the span and goes on its way
            span.set_attribute("error.type", type(fault).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise
        else:
            self._answered(span, response)
        finally:
            span.end()
        if self._spans is not None:
            self._spans.answered(request, response, parent)
        return response

    def _about(self, request: ModelRequest) -> dict[str, str | int]:
        about: dict[str, str | int] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._provider,
            "gen_ai.conversation.id": request.session,
            "gen_ai.request.max_tokens": request.max_output,
            "gen_ai.output.type": "json" if request.schema is not None else "text",
            "officetown.role": request.role,
            "officetown.activation": request.call[0],
            "officetown.call": request.call[1],
        }
        if self._name:
            about["gen_ai.request.model"] = self._name
        return about

    def _answered(self, span: Span, response: ModelResponse) -> None:
        if response.model:
            span.set_attribute("gen_ai.response.model", response.model)
            if not self._name:
                span.update_name(f"chat {response.model}")
        span.set_attribute("gen_ai.response.finish_reasons", [response.finish])
        usage = response.usage
        span.set_attribute("gen_ai.usage.input_tokens", usage.input)
        span.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cached)
        span.set_attribute("gen_ai.usage.output_tokens", usage.output)
        span.set_attribute("gen_ai.usage.reasoning.output_tokens", usage.reasoning)
        if response.cost_micros:
            span.set_attribute("officetown.cost_micros", response.cost_micros)
        if response.finish in ("unavailable", "refusal", "overflow"):
            span.set_attribute("error.type", response.finish)
            span.set_status(Status(StatusCode.ERROR))
