"""An office's run as spans: their names, their parents, their ends; and that they change nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from services.models.scripted import call, calls
from services.offline import OfflineProfessional
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall, Usage
from simulator.engine.environment import Environment
from simulator.errors import ModelOutage
from simulator.ports import Model
from tests.engine.worlds import ALL, OPENING, Bench, person
from tests.offline.town import Town
from tests.rules.desk import FINISH, Desks, begins, opening, rhythm, told

pytest.importorskip("opentelemetry.sdk", reason="needs the extra: officetown[telemetry]")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider  # noqa: E402 - after the skip
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes  # noqa: E402
from opentelemetry.trace import SpanKind, StatusCode  # noqa: E402

from services.telemetry.exporting import provider  # noqa: E402
from services.telemetry.spans import OfficeSpans, Traced  # noqa: E402

HOME = "/home/npc/computer/"


class Watched:
    """A tracer and what it has exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")
        self.spans = OfficeSpans(self.tracer, "office-1")

    def named(self, name: str) -> list[ReadableSpan]:
        return [s for s in self.exporter.get_finished_spans() if s.name == name]

    def only(self, name: str) -> ReadableSpan:
        (found,) = self.named(name)
        return found

    def names(self) -> list[str]:
        return sorted(s.name for s in self.exporter.get_finished_spans())

    def parent(self, span: ReadableSpan) -> str:
        found = [s for s in self.exporter.get_finished_spans() if span.parent and s.context.span_id == span.parent.span_id]
        return found[0].name if found else ""


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched()
    yield made
    made.provider.shutdown()


def about(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def request(words: str = "Hello", **more: Any) -> ModelRequest:
    return ModelRequest("principal", ("daniel.1", 1), "s-daniel", (Message("user", words),), **more)


class Saying:
    """A model that gives one answer."""

    def __init__(self, response: ModelResponse | BaseException) -> None:
        self.response = response

    def complete(self, request: ModelRequest) -> ModelResponse:
        if isinstance(self.response, BaseException):
            raise self.response
        return self.response


# -- a model call -----------------------------------------------------------------------------------------------------


def test_a_call_is_a_chat_span_with_its_usage(watched: Watched) -> None:
    said = ModelResponse("Secret words", usage=Usage(120, 100, 30, 10), model="m-2026-01", cost_micros=7)
    model = Traced(Saying(said), watched.tracer, name="m", provider="mistral_ai")
    assert model.complete(request("Private words")) is said
    span = watched.only("chat m")
    assert span.kind is SpanKind.CLIENT and span.status.status_code is StatusCode.UNSET
    assert about(span) == {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "mistral_ai", "gen_ai.conversation.id": "s-daniel",
        "gen_ai.request.model": "m", "gen_ai.request.max_tokens": 4096, "gen_ai.output.type": "text",
        "gen_ai.response.model": "m-2026-01", "gen_ai.response.finish_reasons": ("stop",), "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.cache_read.input_tokens": 100, "gen_ai.usage.output_tokens": 30, "gen_ai.usage.reasoning.output_tokens": 10,
        "officetown.role": "principal", "officetown.activation": "daniel.1", "officetown.call": 1, "officetown.cost_micros": 7,
    }  # fmt: skip


def test_a_model_without_a_name_is_named_by_its_answer(watched: Watched) -> None:
    Traced(Saying(ModelResponse("x", model="offline")), watched.tracer).complete(request())
    assert watched.names() == ["chat offline"]


def test_a_fault_ends_the_span_and_goes_on_its_way(watched: Watched) -> None:
    model = Traced(Saying(ModelOutage("The endpoint with the key sk-1 is down.")), watched.tracer, name="m")
    with pytest.raises(ModelOutage):
        model.complete(request())
    span = watched.only("chat m")
    assert about(span)["error.type"] == "ModelOutage" and span.status.status_code is StatusCode.ERROR
    assert span.events == (), "no exception text: it may hold what nobody wants to send"


@pytest.mark.parametrize("finish", ["unavailable", "refusal", "overflow"])
def test_an_answer_that_is_none_is_an_error(watched: Watched, finish: Any) -> None:
    Traced(Saying(ModelResponse(finish=finish)), watched.tracer, name="m").complete(request(schema={"type": "object"}))
    span = watched.only("chat m")
    assert about(span)["error.type"] == finish and about(span)["gen_ai.output.type"] == "json"


# -- an office --------------------------------------------------------------------------------------------------------

SUBMIT = call("submit", report="Done.")


def _script() -> dict[Any, Any]:
    goal = call("delegate", goal="Make it", deliverables=["R.md"], work="memo", matter="river")
    return {
        ("session-daniel", begins("go")): [calls(goal, call("open_file", file="nothing.md")), FINISH],
        ("session-daniel", '"kind":"submission"'): [_accepts, FINISH],
        "assistant:daniel.1.1": [call("write", path=HOME + "R.md", text="words"), SUBMIT],
    }


def _accepts(request: ModelRequest) -> ModelResponse:
    return call("review", delegation="daniel.1.1", decision="accept")


def _bench(model: Model, observers: tuple[Any, ...] = (), **more: Any) -> Bench:
    desks = Desks()
    events = opening([person("daniel", ALL)], entries=[rhythm("go", "daniel", OPENING)])
    bench = Bench(events, model, sandboxes=desks, observers=observers, **more)
    desks.blobs = bench.blobs
    return bench


def test_an_office_is_told_as_activations_delegations_calls_and_tools(watched: Watched) -> None:
    bench = _bench(Traced(told(_script()), watched.tracer, watched.spans, name="m"), (watched.spans,))
    bench.run(OPENING + 8 * 3600)
    watched.spans.close()
    done = {"chat m", "invoke_agent daniel", "invoke_agent assistant", "invoke_workflow memo", "execute_tool delegate",
            "execute_tool write", "execute_tool submit", "execute_tool review", "execute_tool finish", "execute_tool open_file"}  # fmt: skip
    assert done <= set(watched.names())
    work = watched.only("invoke_workflow memo")
    assert work.parent is None and about(work)["officetown.outcome"] == "accepted"
    assert [e.name for e in work.events] == ["round opened", "work submitted", "work reviewed"]
    segment = watched.only("invoke_agent assistant")
    assert watched.parent(segment) == "invoke_workflow memo"
    assert about(segment)["gen_ai.conversation.id"] == "assistant:daniel.1.1" and about(segment)["officetown.turns"] == 2
    assert watched.parent(watched.only("execute_tool write")) == "invoke_agent assistant"
    assert watched.parent(watched.only("execute_tool review")) == "invoke_agent daniel"
    person_spans = watched.named("invoke_agent daniel")
    assert {about(s)["gen_ai.conversation.id"] for s in person_spans} == {"session-daniel"}
    assert all(s.parent is None and about(s)["officetown.outcome"] == "done" for s in person_spans)
    (opener,) = work.links
    assert opener.context.span_id in {s.context.span_id for s in person_spans}
    refused, made = watched.only("execute_tool open_file"), watched.only("execute_tool delegate")
    assert about(refused)["error.type"] == "refused" and "error.type" not in about(made)
    assert {watched.parent(s) for s in watched.named("chat m")} == {"invoke_agent daniel", "invoke_agent assistant"}


def test_every_name_is_one_of_the_conventions(watched: Watched) -> None:
    bench = _bench(Traced(told(_script()), watched.tracer, watched.spans, name="m"), (watched.spans,))
    bench.run(OPENING + 8 * 3600)
    known = {v for k, v in vars(gen_ai_attributes).items() if k.startswith("GEN_AI") and isinstance(v, str)} | {"error.type"}
    operations = {str(o.value) for o in gen_ai_attributes.GenAiOperationNameValues}
    for span in watched.exporter.get_finished_spans():
        attributes = about(span)
        assert {key for key in attributes if not key.startswith("officetown.")} <= known
        assert attributes["gen_ai.operation.name"] in operations
        assert span.name.split(" ")[0] == attributes["gen_ai.operation.name"]


def test_no_span_carries_what_anybody_wrote(watched: Watched) -> None:
    bench = _bench(Traced(told(_script()), watched.tracer, watched.spans, name="m"), (watched.spans,))
    bench.run(OPENING + 8 * 3600)
    watched.spans.close()
    sent = "".join(span.to_json() for span in watched.exporter.get_finished_spans())
    assert "Make it" not in sent and "words" not in sent and "R.md" not in sent and "nothing.md" not in sent


def test_the_log_is_the_same_with_and_without(watched: Watched) -> None:
    plain, traced = _bench(told(_script())), _bench(
        Traced(told(_script()), watched.tracer, watched.spans, name="m"), (watched.spans,), concurrency=1, workers=1
    )
    plain.run(OPENING + 8 * 3600)
    traced.run(OPENING + 8 * 3600)
    assert plain.log() == traced.log() and len(plain.log()) > 12


def test_what_is_open_when_a_run_stops_is_ended_and_goes_on_in_the_next(watched: Watched) -> None:
    class Down:
        def complete(self, request: ModelRequest) -> ModelResponse:
            if request.role == "assistant":
                raise ModelOutage("down")
            return people.complete(request)

    people = told(_script())
    bench = _bench(Traced(Down(), watched.tracer, watched.spans, name="m"), (watched.spans,))
    with pytest.raises(ModelOutage):
        bench.run(OPENING + 8 * 3600)
    watched.spans.close()
    assert about(watched.only("invoke_workflow memo"))["officetown.unfinished"] is True
    assert about(watched.only("invoke_agent assistant"))["officetown.unfinished"] is True
    again = Watched()
    traced = Traced(told(_script()), again.tracer, again.spans, name="m")
    bench.env = _with(bench.env, traced, again.spans)
    bench.run(OPENING + 8 * 3600)
    assert again.parent(again.only("execute_tool write")) == "invoke_agent", "an activation that began before has no name here"
    assert about(again.only("invoke_workflow"))["officetown.outcome"] == "accepted"
    again.spans.close()
    assert watched.spans._activations == {} and again.spans._pending == {}


def _with(env: Environment, model: Model, observer: Any) -> Environment:
    return msgspec.structs.replace(env, model=model, observers=(observer,))


def test_many_threads_share_one_activation(watched: Watched) -> None:
    answer = ModelResponse(tool_calls=(ToolCall("1", "read", "{}"),), finish="tool_calls", model="m")
    model = Traced(Saying(answer), watched.tracer, watched.spans, name="m")
    threads = [threading.Thread(target=model.complete, args=(request(str(n)),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watched.spans.close()
    assert watched.names() == ["chat m"] * 8 + ["execute_tool read"] * 8 + ["invoke_agent"]


# -- leaving ----------------------------------------------------------------------------------------------------------


class Kept(InMemorySpanExporter):
    """An exporter that remembers what it was sent after it was shut down."""

    def shutdown(self) -> None:
        self.ended = True


def test_a_provider_sends_what_is_left_when_it_ends() -> None:
    exporter = Kept()
    made = provider("office", "1", exporter)
    made.get_tracer("t").start_span("one").end()
    made.shutdown()
    (span,) = exporter.get_finished_spans()
    resource = dict(span.resource.attributes)
    assert span.name == "one" and resource["service.name"] == "office" and resource["service.version"] == "1"
    assert exporter.ended


def test_an_office_of_the_offline_professional_is_traced_whole(watched: Watched) -> None:
    """Every span that was begun has ended, none has a parent that is missing, none ends before it began."""
    town = Town(1)
    town.model = Traced(OfflineProfessional(), watched.tracer, watched.spans)
    desks = Desks()
    desks.blobs = town.blobs
    town.run(2, desks, (watched.spans,))
    watched.spans.close()
    spans: Sequence[ReadableSpan] = watched.exporter.get_finished_spans()
    ids = {s.context.span_id for s in spans}
    assert len([s for s in spans if s.name == "chat offline"]) > 20
    assert all(s.parent is None or s.parent.span_id in ids for s in spans)
    assert all(s.end_time is not None and s.start_time is not None and s.end_time >= s.start_time for s in spans)
