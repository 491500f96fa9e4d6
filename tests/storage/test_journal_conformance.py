"""What every journal must do: the memory double, SQLite and PostgreSQL alike (RULE 23)."""

from __future__ import annotations

import threading
from itertools import pairwise

import msgspec
import pytest

from simulator.canonical import sha256
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import CorruptStore, StorageError, TapeMismatch, UsageError
from simulator.ports import Journal
from tests.storage.support import TOOLS, Record, answer, event, events, item, request, text, tool


def test_a_new_office_has_an_empty_log(record: Record) -> None:
    journal: Journal = record.open()
    assert journal.head == 0
    assert list(journal.events()) == []
    assert journal.call("elena.1", 0) is None
    assert journal.tool("elena.1", 0) is None
    assert journal.load_checkpoint("1") is None


def test_committed_events_come_back_byte_for_byte_after_reopening(record: Record) -> None:
    """RULE 20: the log is bytes; NUL, odd escapes and key order survive any database."""
    odd = [b'{"b":1,"a":2}', b'{"t":"\\u0000\\ud800 \xf0\x9f\x98\x80"}', b"\x00\xff", b"1e400"]
    record.open().commit(1, odd, text("a long text \N{SNOWMAN} with NUL \x00"))
    journal = record.open()
    assert journal.head == 4
    assert list(journal.events()) == list(enumerate(odd, 1))
    (digest,) = text("a long text \N{SNOWMAN} with NUL \x00")
    assert journal.body(digest) == "a long text \N{SNOWMAN} with NUL \x00"


def test_events_are_read_between_two_revisions(record: Record) -> None:
    journal = record.open()
    journal.commit(1, events(1, 5), {})
    journal.commit(6, events(6, 5), {})
    assert [revision for revision, _ in journal.events(3, 7)] == [4, 5, 6, 7]
    assert [revision for revision, _ in journal.events(after=9)] == [10]
    assert list(journal.events(10)) == []
    assert [revision for revision, _ in journal.events(8, 99)] == [9, 10]


def test_reading_streams_over_many_chunks_while_events_are_added(record: Record) -> None:
    journal = record.open()
    journal.commit(1, events(1, 9000), {})
    reading = journal.events()
    assert next(reading) == (1, event(1))
    journal.commit(9001, [event(9001)], {})
    revisions = [revision for revision, _ in reading]
    assert revisions[-1] == 9000
    assert all(b == a + 1 for a, b in pairwise(revisions))


@pytest.mark.parametrize("first", [0, 2, 4, -1])
def test_a_commit_must_follow_the_head(record: Record, first: int) -> None:
    journal = record.open()
    journal.commit(1, events(1, 2), {})
    with pytest.raises(UsageError, match="cannot follow event 2"):
        journal.commit(first, [event(3)], {})
    assert journal.head == record.open().head == 2


def test_a_text_filed_under_another_hash_is_refused_with_its_events(record: Record) -> None:
    journal = record.open()
    with pytest.raises(UsageError, match="another hash"):
        journal.commit(1, [event(1)], {sha256(b"this"): "that"})
    assert journal.head == 0
    with pytest.raises(CorruptStore):
        journal.body(sha256(b"this"))


def test_a_missing_body_is_a_fault_of_the_store(record: Record) -> None:
    with pytest.raises(CorruptStore, match="missing"):
        record.open().body(sha256(b"never stored"))


def test_the_same_text_in_many_commits_is_stored_once_and_stays_readable(record: Record) -> None:
    journal = record.open()
    body = text("the same words")
    for revision in (1, 2):
        journal.commit(revision, [event(revision)], body)
    journal = record.open()
    journal.commit(3, [event(3)], body)
    assert journal.body(next(iter(body))) == "the same words"


def test_an_answer_is_found_by_activation_and_ordinal(record: Record) -> None:
    """RULE 2."""
    journal = record.open()
    asked = [request(ordinal=n, words=f"question {n}") for n in range(3)]
    journal.record([(r, answer(f"answer {n}")) for n, r in enumerate(asked)])
    journal = record.open()
    for n, r in enumerate(asked):
        found = journal.call("elena.1", n)
        assert found is not None
        assert (found.activation, found.ordinal) == r.call
        assert found.fingerprint == r.fingerprint
        assert found.response == answer(f"answer {n}")
    assert journal.call("elena.1", 3) is None
    assert journal.call("elena.10", 0) is None


def test_a_whole_request_is_rebuilt_from_hashes(record: Record) -> None:
    """RULE 22: parameters plus a list of message hashes, each body stored once."""
    schema = {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "number"}}}
    long = tuple(Message("user", f"turn {n} \x00 \N{SNOWMAN}") for n in range(40))
    asked = [
        request(),
        ModelRequest("judge", ("judge.1", 0), "s", long, (), schema, "verdict", 99),
        ModelRequest(
            "judge", ("judge.1", 1), "s", (*long, answer().as_message(), Message("tool", "r", (), "t1")), TOOLS
        ),
    ]
    record.open().record([(r, answer(f"to {r.call}")) for r in asked])
    journal = record.open()
    stored = list(journal.requests())
    assert [r for r, _ in stored] == asked
    assert [r.fingerprint for r, _ in stored] == [r.fingerprint for r in asked]
    assert [a.content for _, a in stored] == [f"to {r.call}" for r in asked]


def test_the_last_conversation_of_an_activation_is_found_by_its_session(record: Record) -> None:
    journal = record.open()
    turns = [Message("user", f"turn {n}") for n in range(12)]
    for n in range(12):
        session = "branch" if n in (5, 11) else "main"
        asked = ModelRequest("principal", ("elena.1", n), session, tuple(turns[: n + 1]))
        journal.record([(asked, answer(f"answer {n}"))])
    journal.begin_call(ModelRequest("principal", ("elena.1", 12), "main", tuple(turns)), 10)
    journal = record.open()
    assert journal.conversation("elena.1", "main") == (tuple(turns[:11]), answer("answer 10"))
    assert journal.conversation("elena.1", "branch") == (tuple(turns), answer("answer 11"))
    assert journal.conversation("elena.1", "other") is None
    assert journal.conversation("elena.2", "main") is None


def test_calls_are_ordered_by_code_point_whatever_the_locale(record: Record) -> None:
    """RULE 37."""
    names = ["a.1", "B.1", "a.10", "a.2", "A-b.1", "\N{LATIN SMALL LETTER E WITH ACUTE}.1", "z.1", "_.1"]
    journal = record.open()
    journal.record([(request(name), answer()) for name in names])
    assert [r.call[0] for r, _ in journal.requests()] == sorted(names)
    assert [line.activation for line in journal.ledger()] == sorted(names)


def test_recording_an_answer_twice_changes_nothing(record: Record) -> None:
    journal = record.open()
    journal.record([(request(), answer())], [tool()])
    journal.record([(request(), answer())], [tool()])
    assert journal.charged_micros() == 30
    found = journal.call("elena.1", 0)
    assert found is not None and found.response == answer()


def test_another_answer_never_replaces_the_first_and_its_group_is_not_stored(record: Record) -> None:
    journal = record.open()
    journal.record([(request(), answer("first"))])
    with pytest.raises(TapeMismatch, match="elena.1, call 0"):
        journal.record([(request("quinn.1"), answer()), (request(), answer("second"))])
    assert journal.call("quinn.1", 0) is None
    found = journal.call("elena.1", 0)
    assert found is not None and found.response.content == "first"


def test_tool_results_come_back_with_home_and_shell(record: Record) -> None:
    """RULE 35."""
    journal = record.open()
    journal.record([], [tool(ordinal=n, result=f"line {n}\n\x1b[31m\x00") for n in range(3)])
    journal = record.open()
    for n in range(3):
        assert journal.tool("daniel.1", n) == tool(ordinal=n, result=f"line {n}\n\x1b[31m\x00")
    with pytest.raises(TapeMismatch, match="daniel.1, call 1"):
        journal.record([], [tool(ordinal=1, result="something else")])
    assert journal.tool("daniel.1", 1) == tool(ordinal=1, result="line 1\n\x1b[31m\x00")


def test_a_begun_call_has_no_answer_and_counts_at_its_worst_case(record: Record) -> None:
    """RULE 2: in flight at a crash, charged at its worst case; the answer then adds to it."""
    journal = record.open()
    journal.begin_call(request(), 500)
    assert journal.call("elena.1", 0) is None
    assert journal.charged_micros() == 500
    journal = record.open()
    journal.begin_call(request(), 400)
    assert journal.charged_micros() == 900
    journal.record([(request(), answer(cost=30))])
    assert journal.charged_micros() == 530
    (line,) = journal.ledger()
    assert (line.state, line.cost_micros, line.lost_micros) == ("answered", 30, 500)
    assert (line.input_tokens, line.cached_tokens, line.output_tokens) == (100, 20, 5)
    assert (line.role, line.session) == ("principal", "session-elena")


def test_how_long_an_answer_took_is_kept_beside_the_record_and_not_in_it(record: Record) -> None:
    """RULE 22: the record of two runs is the same, however fast their networks were."""
    journal = record.open()
    slow = msgspec.structs.replace(answer(), latency_ms=1_250)
    journal.record([(request(), slow)])
    journal.record([(request(), answer())])
    stored = journal.call("elena.1", 0)
    assert stored is not None and stored.response == answer()
    assert [line.latency_ms for line in journal.ledger()] == [1_250]


def test_beginning_an_answered_call_changes_nothing(record: Record) -> None:
    journal = record.open()
    journal.record([(request(), answer(cost=30))])
    journal.begin_call(request(), 500)
    assert journal.charged_micros() == 30
    assert journal.call("elena.1", 0) is not None


def test_a_call_that_ended_without_an_answer_is_released(record: Record) -> None:
    """A billed failure is still charged; an unbilled one is not."""
    journal = record.open()
    journal.begin_call(request(), 500)
    journal.release_call(request())
    assert journal.charged_micros() == 0
    journal.begin_call(request(), 500)
    journal.release_call(request(), charged_micros=70)
    assert journal.charged_micros() == 70
    journal.begin_call(request(), 500)
    journal.record([(request(), answer(cost=30))])
    journal.release_call(request(), charged_micros=9)
    assert journal.charged_micros() == 100


def test_checkpoints_are_found_by_fold_version_and_revision(record: Record) -> None:
    """RULE 21."""
    journal = record.open()
    for revision, data in ((10, b"ten"), (20, b"twenty"), (30, b"thirty" * 10_000)):
        journal.save_checkpoint(revision, "fold-1", data)
    journal.save_checkpoint(25, "fold-2", b"other")
    assert journal.load_checkpoint("fold-1") == (30, b"thirty" * 10_000)
    assert journal.load_checkpoint("fold-1", 29) == (20, b"twenty")
    assert journal.load_checkpoint("fold-1", 9) is None
    assert journal.load_checkpoint("fold-3") is None
    journal.save_checkpoint(20, "fold-1", b"again")
    assert record.open().load_checkpoint("fold-1", 20) == (20, b"again")


def test_the_status_of_a_run_is_kept_beside_the_log(record: Record) -> None:
    journal = record.open()
    assert journal.status == b""
    journal.set_status(b'{"paused":true}')
    assert record.open().status == b'{"paused":true}'
    assert journal.head == 0


def test_an_outbox_key_names_one_effect_for_ever(record: Record) -> None:
    journal = record.open()
    journal.commit(1, [event(1)], {}, [item("m1"), item("m2")])
    journal.commit(2, [event(2)], {}, [item("m1")])
    with pytest.raises(UsageError, match="'m2'"):
        journal.commit(3, [event(3)], {}, [item("m3"), item("m2", body=b"other")])
    assert journal.head == 2
    journal.commit(3, [event(3)], {}, [item("m3", body=b"now as wanted")])


def test_a_closed_journal_refuses_to_write(record: Record) -> None:
    journal = record.open()
    journal.close()
    journal.close()
    with pytest.raises(StorageError, match="open it again"):
        journal.commit(1, [event(1)], {})
    with pytest.raises(StorageError, match="open it again"):
        journal.begin_call(request(), 1)


def test_nothing_to_record_is_no_transaction_and_no_error(record: Record) -> None:
    journal = record.open()
    journal.record([])
    journal.commit(1, [], text("a body alone"))
    assert journal.head == 0
    assert journal.body(next(iter(text("a body alone")))) == "a body alone"


def test_worker_threads_begin_calls_while_the_engine_commits(record: Record) -> None:
    journal = record.open()
    errors: list[BaseException] = []

    def begin(worker: int) -> None:
        try:
            for n in range(12):
                journal.begin_call(request(f"worker{worker}.1", n), 10)
        except StorageError as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for revision in range(1, 25):
        journal.commit(revision, [event(revision)], {})
        journal.record([(request("engine.1", revision), ModelResponse("x"))])
    for thread in threads:
        thread.join()
    assert errors == []
    journal = record.open()
    assert journal.head == 24
    assert journal.charged_micros() == 6 * 12 * 10
    assert sum(1 for _ in journal.ledger()) == 6 * 12 + 24
