"""STORY.md, row by row: what must hold at each moment, read from the record as it was then."""

from __future__ import annotations

import msgspec

from services.documents.renderer import DocumentRenderer
from simulator.access import can, who_can
from simulator.canonical import sha256
from simulator.conversation import Message
from simulator.engine.history import as_of
from simulator.events import (
    ActivationLanded,
    ActivationStarted,
    ConflictRaised,
    FileShared,
    LookedInto,
    MailSent,
    StimulusArrived,
)
from simulator.memory import recall
from simulator.mounts import MountPlan, plan_mounts
from simulator.office import Office
from simulator.quoting import quoted
from simulator.records import FileRef
from simulator.view import view
from tests.story.firm import ELENA_SECRET, NOTED, OAKRIDGE_SECRET, moment
from tests.story.script import ANSWER, CONCLUSION, IMPORT_QUESTION, INPUTS, QUESTION, REPORT, REVISE, THREE_STREAMS
from tests.story.telling import Told


def texts(told: Told, office: Office, holder: str, kind: str) -> list[str]:
    """Return a person's open memory records of a kind, as text."""
    memories = office.memories.values()
    return sorted(told.bodies(m.text) for m in memories if m.holder == holder and m.kind == kind and not m.closed_at)


def paths(plan: MountPlan) -> set[str]:
    return {f"{tree}/{f.path}" for tree in ("home", "company", "services", "task") for f in getattr(plan, tree)}


# -- Monday morning ----------------------------------------------------------------------------------------------------


def test_mon_0904_maya_writes_because_the_demand_process_woke_her(told: Told) -> None:
    woken = [e for e, p in told.payloads(StimulusArrived) if p.stimulus.kind == "demand"]
    assert woken[0].sim_time == moment("2026-01-05 09:03")
    mail = told.at("2026-01-05 09:04").mails["maya.1.1"]
    assert mail.subject == "please reconcile December" and mail.external and mail.to == ("elena",)
    assert not told.before("2026-01-05 09:04").mails


def test_mon_0904_attachments_are_the_engagements_and_the_riverbend_teams_alone(told: Told) -> None:
    office = told.at("2026-01-05 09:04")
    for ref, name in zip(office.mails["maya.1.1"].attachments, INPUTS, strict=True):
        file = office.files[ref.file]
        assert (file.space, file.owner, file.path) == (
            "matter:riverbend-close",
            "matter:riverbend-close",
            f"Inputs/2025-12/{name}",
        )
        assert file.versions[0].level == "confidential" and file.versions[0].walls == ("riverbend-close",)
        assert [e.person for e in who_can(office, ref)] == ["daniel", "dev", "elena", "maya", "quinn"]


def test_mon_0904_elena_is_woken_by_the_mail(told: Told) -> None:
    started = next(p.running for _, p in told.payloads(ActivationStarted) if p.running.id == "elena.1")
    assert started.at == moment("2026-01-05 09:04")
    assert [(s.kind, s.ref) for s in started.stimuli] == [("mail", "maya.1.1")]


def test_mon_0919_what_elena_did_lands_together_and_not_before(told: Told) -> None:
    """RULE 7: she began at 09:04 and took three turns of five minutes."""
    before, after = told.before("2026-01-05 09:19"), told.at("2026-01-05 09:19")
    assert not before.requests and not before.entries and not texts(told, before, "elena", "commitment")
    landed = [e for e in told.events if e.activation == "elena.1" and not isinstance(e.payload, ActivationStarted)]
    assert {e.sim_time for e in landed} == {moment("2026-01-05 09:19")}
    (request,) = after.requests.values()
    assert (request.asker, request.owner, request.due) == ("elena", "daniel", moment("2026-01-07 17:00"))
    assert told.bodies(request.outcome) == "Reconcile December for Riverbend"
    assert request.materials == after.mails["maya.1.1"].attachments
    assert texts(told, after, "elena", "commitment") == ["Maya is promised December's reconciliation"]


def test_mon_0919_the_invitation_is_on_three_calendars(told: Told) -> None:
    office = told.at("2026-01-05 09:19")
    (entry,) = office.entries.values()
    assert (entry.start, entry.minutes) == (moment("2026-01-05 11:00"), 30)
    holding = {p for p in office.people if any(e.id == entry.id for e in view(office, p).calendar())}
    assert holding == {"elena", "daniel", "dev"}


def test_mon_1100_the_meeting_is_held_by_those_invited_within_18_turns(told: Told) -> None:
    started = next(p.running for _, p in told.payloads(ActivationStarted) if p.running.kind == "meeting")
    assert started.at == moment("2026-01-05 11:00") and started.people == ("elena", "daniel", "dev")
    (meeting,) = told.at("2026-01-05 11:30").meetings.values()
    assert meeting.state == "held" and 1 <= meeting.turns <= 18


def test_mon_1100_minutes_are_a_file_in_the_engagements_space(told: Told) -> None:
    office = told.at("2026-01-05 11:30")
    (meeting,) = office.meetings.values()
    assert meeting.minutes is not None
    file = office.files[meeting.minutes.file]
    assert file.space == "matter:riverbend-close" and file.versions[0].walls == ("riverbend-close",)
    said = told.blobs.get(file.versions[0].blob.sha256).decode()
    assert THREE_STREAMS in said and IMPORT_QUESTION in said
    assert {e.person for e in who_can(office, meeting.minutes)} == {"daniel", "dev", "elena", "quinn"}


def test_mon_1100_decision_and_question_are_remembered_by_those_who_were_there_alone(told: Told) -> None:
    office = told.at("2026-01-05 11:30")
    decided = {
        m.holder for m in office.memories.values() if told.bodies(m.text) == THREE_STREAMS and m.kind == "decision"
    }
    asked = {
        m.holder for m in office.memories.values() if told.bodies(m.text) == IMPORT_QUESTION and m.kind == "question"
    }
    assert decided == asked == {"elena", "daniel", "dev"}
    for person in ("quinn", "tomas", "maya"):
        assert not texts(told, told.end, person, "decision")


# -- the delegation -----------------------------------------------------------------------------------------------------


def test_mon_1140_daniel_accepts_and_delegates(told: Told) -> None:
    before, office = told.before("2026-01-05 11:40"), told.at("2026-01-05 11:40")
    assert {r.state for r in before.requests.values()} == {"open"} and not before.delegations
    assert {r.state for r in office.requests.values()} == {"accepted"}
    work = told.december(office)
    assert work.at == moment("2026-01-05 11:40") and work.principal == "daniel"
    assert work.inputs == office.mails["maya.1.1"].attachments
    assert "originals stay unchanged" in work.constraints and work.deliverables == (
        "Reconciliation.xlsx",
        "Open items.md",
    )
    assert work.request in office.requests


def plan_of_round(told: Told, number: int) -> MountPlan:
    moment_of = told.december().rounds[number - 1].revision
    return plan_mounts(told.revision(moment_of), told.december().id, told.bodies, reference=True)


def test_mon_1140_the_mounts_hold_exactly_what_they_should(told: Told) -> None:
    """Daniel's home, the Riverbend files, firm references, his skill, the services as he sees them, the task without a rubric."""
    plan = plan_of_round(told, 1)
    project = "company/Projects/Riverbend Outdoor"
    skill = {p for p in paths(plan) if p.startswith("company/Resources/Skills/bank-reconciliation/")}
    assert f"{'company/Resources/Skills/bank-reconciliation'}/SKILL.md" in skill
    assert paths(plan) - skill == {
        "home/Notes/Checklist.md",
        *(f"{project}/Inputs/2025-12/{name}" for name in INPUTS),
        f"{project}/Meetings/2026-01-05 1100 Riverbend kick-off.md",
        "company/Resources/Reconciliation standard.md", "company/INDEX.md",
        *(f"services/{name}.json" for name in ("calendar", "chat", "git", "mail", "meetings", "notices")),
        *(f"task/{name}" for name in ("CONTRACT.md", "README.md", "TASK.md", "source_inventory.json")),
    }  # fmt: skip
    assert all(f.why for tree in (plan.home, plan.company) for f in tree)


def mounted_bytes(told: Told, plan: MountPlan) -> list[bytes]:
    trees = (*plan.home, *plan.company, *plan.services, *plan.task)
    return [f.data if f.data is not None else told.blobs.get(f.blob.sha256) for f in trees]  # type: ignore[union-attr]


def test_mon_1140_nothing_of_oakridge_or_of_elenas_home_is_mounted(told: Told) -> None:
    for number in (1, 2, 3):
        for data in mounted_bytes(told, plan_of_round(told, number)):
            for word in (OAKRIDGE_SECRET, ELENA_SECRET, "Oakridge", "rubric"):
                assert word.encode() not in data


def test_mon_1140_what_was_planned_is_what_the_sandbox_saw(told: Told) -> None:
    """The listing that a command inside made, against the plan as of the round's moment."""
    listed = tool_texts(told, "find /home /mnt -type f")[0]["stdout"].split("\n")
    inside = {
        p.removeprefix("/mnt/").replace("/home/npc/computer", "home") for p in listed if p.startswith(("/mnt", "/home"))
    }
    assert inside - {"home/.work/seen.txt"} == paths(plan_of_round(told, 1))
    found = tool_texts(told, "grep -rl -e OAKRIDGE-ONLY")[0]["stdout"]
    assert found.startswith("/mnt/services:\n"), "no file that it may read holds those words"


def conversations(told: Told) -> list[Message]:
    """Return December's whole conversation with the assistant, as its last call saw it."""
    session = f"assistant:{told.december().id}"
    return list(max((r for r in told.model.asked if r.session == session), key=lambda r: len(r.messages)).messages)


def tool_texts(told: Told, words: str) -> list[dict]:  # type: ignore[type-arg]
    """Return the results of the assistant's commands that contain these words, in order."""
    said = conversations(told)
    wanted = {c.id for m in said for c in m.tool_calls if words in c.arguments}
    return [msgspec.json.decode(m.content) for m in said if m.tool_call_id in wanted]


def test_mon_1225_a_question_wakes_daniel_and_his_answer_reaches_the_same_home(told: Told) -> None:
    """RULE 14: a new segment of the same round; files and shell as they were."""
    asked = told.december(told.at("2026-01-05 12:25"))
    assert asked.state == "asking" and told.bodies(asked.questions[0].body) == QUESTION
    started = next(p.running for e, p in told.payloads(ActivationStarted) if e.sim_time == moment("2026-01-05 12:25"))
    assert (started.actor, started.stimuli[0].kind) == ("daniel", "question")
    answered = told.december(told.at("2026-01-05 12:30"))
    assert answered.questions[0].answered_by == "daniel" and answered.questions[0].answer is not None
    assert told.bodies(answered.questions[0].answer) == ANSWER
    assert len(answered.rounds) == 1 and answered.rounds[0].segments == 1
    assert tool_texts(told, "cat ~/.work/seen.txt; find")[0]["stdout"].startswith("read the task\n")
    assert any(ANSWER in m.content for m in conversations(told) if m.role == "user")


# -- the submission -----------------------------------------------------------------------------------------------------


def test_mon_1510_the_submission_is_two_drafts_of_daniels_version_1(told: Told) -> None:
    office = told.at("2026-01-05 15:10")
    submission = told.december(office).rounds[0].submission
    assert submission is not None and submission.at == moment("2026-01-05 15:10")
    assert told.bodies(submission.report) == REPORT
    names = {office.files[r.file].path.rpartition("/")[2]: r.version for r in submission.files}
    assert names == {"Open items.md": 1, "Reconciliation.xlsx": 1}
    for ref in submission.files:
        assert office.files[ref.file].space == "home:daniel"
        for person in ("elena", "quinn", "dev", "tomas", "maya"):
            assert not can(person, "read", ref, office).allowed
            assert view(office, person).file(ref) is None


def test_mon_1510_who_could_see_version_1_on_monday_at_1600_daniel_alone(told: Told) -> None:
    found = who_can(told.at("2026-01-05 16:00"), told.book(1))
    assert [(e.person, e.reason) for e in found] == [("daniel", "its owner")]


def test_mon_1510_the_originals_are_unchanged(told: Told) -> None:
    """The assistant tried to write to one; every round's checksums inside equal what Maya sent."""
    assert tool_texts(told, "echo spoiled")[0]["exit_code"] != 0
    sent = {
        sha256(told.blobs.get(told.end.files[r.file].versions[0].blob.sha256))
        for r in told.end.mails["maya.1.1"].attachments
    }
    looks = tool_texts(told, "sha256sum")
    assert len(looks) == 3
    for look in looks:
        assert {
            line.split(" ")[0] for line in look["stdout"].split("\n") if "/Inputs/2025-12/" in line and "  /mnt" in line
        } == sent
    assert all(len(told.end.files[r.file].versions) == 1 for r in told.end.mails["maya.1.1"].attachments)


def rendered(told: Told, version: int) -> str:
    blob = told.file("Reconciliation.xlsx").versions[version - 1].blob
    return DocumentRenderer().render(told.blobs.get(blob.sha256), "", "Reconciliation.xlsx")


def test_mon_1540_daniel_opened_the_workbook_and_did_not_believe_the_report(told: Told) -> None:
    landed = next(p for e, p in told.payloads(ActivationLanded) if e.sim_time == moment("2026-01-05 15:40"))
    assert told.book(1) in landed.opened
    assert "deposits included" in REPORT and "850" not in rendered(told, 1) and "850" in rendered(told, 2)
    review = told.december(told.at("2026-01-05 15:40")).rounds[0].review
    assert review is not None and review.decision == "revise"
    notes = told.bodies(review.notes)
    assert notes == REVISE and "Version 1" in notes and "cell B3" in notes and len(notes.split("\n")) == 2


def test_mon_1540_the_second_round_is_the_same_home_with_the_notes_first(told: Told) -> None:
    """RULE 15: fresh mounts as of then, the home restored from the submission, the conversation continued."""
    plan = plan_of_round(told, 2)
    task = next(f.data for f in plan.task if f.path == "TASK.md")
    assert task is not None and b"Review of round 1: revise" in task and REVISE.split("\n")[0].encode() in task
    assert plan.restored == told.december(told.at("2026-01-05 15:10")).rounds[0].home
    notes = next(m for m in conversations(told) if m.role == "user" and "Decision: revise" in m.content)
    assert quoted(REVISE) in notes.content
    first = tool_texts(told, "ls -R ~")[0]["stdout"]
    assert first.startswith("read the task\n") and "Reconciliation.xlsx" in first


def test_mon_1740_the_assistant_works_into_the_evening_and_daniel_wakes_at_the_next_open_minute(told: Told) -> None:
    """RULE 9."""
    submission = told.december().rounds[1].submission
    assert submission is not None and submission.at == moment("2026-01-05 17:40")
    started = [p.running for _, p in told.payloads(ActivationStarted) if p.running.actor == "daniel"]
    woken = next(r for r in started if any(s.kind == "submission" and s.at == submission.at for s in r.stimuli))
    assert woken.at == moment("2026-01-06 09:00")


def test_tue_1015_supplement_and_both_versions_remain(told: Told) -> None:
    office = told.at("2026-01-06 10:15")
    review = told.december(office).rounds[1].review
    assert review is not None and review.decision == "supplement" and review.at == moment("2026-01-06 10:15")
    assert [v.number for v in told.file("Reconciliation.xlsx", office).versions] == [1, 2]
    assert told.blobs.has(told.file("Reconciliation.xlsx").versions[0].blob.sha256)
    assert "Pine Mills" not in rendered(told, 2) and "Pine Mills" in rendered(told, 3)


def test_tue_1130_acceptance_names_exactly_version_3_and_still_nobody_else_sees_it(told: Told) -> None:
    office = told.at("2026-01-06 11:30")
    accepted = [office.acceptances[i] for i in office.accepted[told.book(3).file]]
    assert [(a.version, a.by, a.capacity, a.at) for a in accepted] == [
        (3, "daniel", "accept", moment("2026-01-06 11:30"))
    ]
    assert told.december(office).state == "accepted"
    assert [e.person for e in who_can(office, told.book(3))] == ["daniel"]


def test_tue_1145_daniel_shares_version_3_with_the_team_and_no_other_version(told: Told) -> None:
    office = told.at("2026-01-06 11:45")
    assert [e.person for e in who_can(office, told.book(3))] == ["daniel", "dev", "elena", "quinn"]
    for version in (1, 2):
        assert [e.person for e in who_can(office, told.book(version))] == ["daniel"]


def test_tue_1145_the_mail_to_maya_is_refused_with_both_reasons_and_nothing_leaves(told: Told) -> None:
    answers = [
        m.content
        for r in told.prompts("session-daniel")
        for m in r.messages
        if m.role == "tool" and "was not sent" in m.content
    ]
    assert answers
    assert "quality sign-off is required for client release" in answers[0]
    assert "the classification forbids Maya Lindqvist" in answers[0]
    office = told.at("2026-01-07 14:19")
    assert set(office.mails) == {"maya.1.1"}
    assert not told.payloads(ConflictRaised)


# -- out to Maya --------------------------------------------------------------------------------------------------------


def test_wed_1420_signed_off_released_and_mailed_with_exactly_version_3(told: Told) -> None:
    before, office = told.before("2026-01-07 14:20"), told.at("2026-01-07 14:20")
    signed = [
        before.acceptances[i]
        for i in before.accepted[told.book(3).file]
        if before.acceptances[i].capacity == "quality_signoff"
    ]
    assert [(a.by, a.version) for a in signed] == [("quinn", 3)]
    assert not can("maya", "read", told.book(3), before).allowed
    (mail,) = (p.mail for e, p in told.payloads(MailSent) if e.actor == "elena")
    assert (mail.at, mail.to, mail.attachments) == (moment("2026-01-07 14:20"), ("maya",), (told.book(3),))
    decision = can("maya", "read", told.book(3), office)
    assert decision.allowed and decision.reason.startswith("granted to person:maya by elena")
    for version in (1, 2):
        assert not can("maya", "read", told.book(version), office).allowed
    grant = next(
        p.grant for _, p in told.payloads(FileShared) if p.grant.audience == "person:maya" and p.grant.by == "elena"
    )
    assert grant.reason and grant.rules


def test_wed_1420_the_mail_leaves_once_though_the_process_was_killed_twice(told: Told) -> None:
    """Once between commit and delivery, once between delivery and its note: the second attempt says so, and one letter lies there."""
    (mail,) = (p.mail for e, p in told.payloads(MailSent) if e.actor == "elena")
    assert [again for key, again in told.letters if key == f"mail:{mail.id}"] == [False, True]
    assert [p.name for p in told.sent.iterdir() if mail.id in p.name] == [f"{mail.id}.eml"]


def test_wed_1435_fulfilled_closed_and_the_850_stays_open(told: Told) -> None:
    office = told.at("2026-01-07 14:35")
    assert {r.state for r in office.requests.values()} == {"fulfilled"}
    assert next(iter(office.requests.values())).results == (told.book(3),)
    assert not texts(told, office, "elena", "commitment")
    for person in ("elena", "daniel"):
        assert any("850.00" in text for text in texts(told, office, person, "question"))
    assert all("850.00" in text for text in texts(told, told.end, "daniel", "question") if "D12-2" in text)


# -- the next day and four weeks later ---------------------------------------------------------------------------------


def day_prompt(told: Told, day: str) -> list[Message]:
    return list(told.prompts("session-daniel", f"# {day}")[0].messages)


def test_next_day_the_session_reopens_under_its_id_with_a_fresh_conversation(told: Told) -> None:
    """RULE 12."""
    messages = day_prompt(told, "Thursday 8 January 2026, 09:00")
    assert [m.role for m in messages] == ["system", "user"]
    assert "850.00" not in messages[0].content and "close the request" not in messages[1].content
    assert "D12-2" in messages[1].content, "his open question comes back, by memory"
    sessions = {r.session for r in told.model.asked if "daniel" in r.session and r.role == "principal"}
    assert sessions == {"session-daniel", "session-daniel/look-up"}


def test_next_day_he_is_given_8_commitments_5_discussions_5_decisions_10_records(told: Told) -> None:
    """RULE 12: whatever he holds, and by relevance."""
    prompt = day_prompt(told, "Thursday 8 January 2026, 09:00")[1].content

    def rows(title: str) -> int:
        return prompt.partition(f"## {title}\n")[2].partition("\n## ")[0].count('"id":')

    assert min(NOTED.values()) > 8
    assert [rows(t) for t in ("Commitments", "Discussions", "Open decisions", "Colleague records")] == [8, 5, 5, 10]
    assert len(recall(told.end, "daniel", ()).decisions) == 5


def test_next_day_a_look_up_runs_in_a_branch_and_brings_back_two_sentences(told: Told) -> None:
    branch = told.prompts("session-daniel/look-up")
    assert len(branch) == 3 and all(t.name not in ("post_message", "delegate") for t in branch[0].tools)
    assert any(THREE_STREAMS in m.content for m in branch[-1].messages), "the branch read the minutes"
    after = told.prompts("session-daniel", "# Thursday 8 January 2026, 09:00")[-1].messages
    assert CONCLUSION in after[-1].content and CONCLUSION.count(". ") == 1
    assert THREE_STREAMS not in after[-1].content and not any("# Riverbend kick-off" in m.content for m in after)
    ((event, looked),) = told.payloads(LookedInto)
    assert event.actor == "daniel" and told.bodies(looked.conclusion) == CONCLUSION


def test_four_weeks_later_january_rests_on_decembers_accepted_workbook(told: Told) -> None:
    january = next(d for d in told.end.delegations.values() if d.period == "2026-01")
    assert told.book(3) in january.inputs and january.at > moment("2026-02-02 09:00")
    plan = plan_mounts(told.revision(january.rounds[0].revision), january.id, told.bodies)
    assert told.book(3) in plan.refs() and FileRef(told.book(3).file, 2) not in plan.refs()
    woken = told.prompts("session-daniel", "Reconcile January")[0].messages[-1].content
    assert "850.00 deposit D12-2 of December is unexplained" in woken, (
        "the open question is at hand when January begins"
    )
    made = told.file("Reconciliation.xlsx", period="2026-01").versions[0]
    assert told.book(3) in made.sources, "a dependency across tasks"


def test_nothing_was_lost_on_the_way(told: Told) -> None:
    """Every answer was used, no conflict was raised, and the office folds from its log alone."""
    assert told.model.unused() <= 1
    assert not told.end.conflicts
    assert as_of(told.reader, checkpoints=False) == told.end
