"""Acts of memory: note and close."""

from __future__ import annotations

from simulator.acts import arguments as a
from simulator.acts.context import ActContext, Outcome, Refused
from simulator.events import MemoryClosed, MemoryNoted
from simulator.records import Memory


def note(ctx: ActContext, args: a.Note) -> Outcome:
    if not args.text.strip():
        raise Refused("there is nothing to note")
    matter = ctx.matter(args.matter)
    due = ctx.when(args.due)
    memory = Memory(ctx.act_id, ctx.actor, args.record, ctx.body(args.text, 2_000), ctx.at, args.about[:200], matter, due,
                    relied=ctx.opened)  # fmt: skip
    return Outcome((MemoryNoted(memory),), {"record": memory.id})


def close_note(ctx: ActContext, args: a.CloseNote) -> Outcome:
    ctx.allow("read_memory", args.record)
    memory = ctx.office.memories[args.record]
    if memory.closed_at:
        raise Refused("that record is closed")
    return Outcome((MemoryClosed(memory.id, ctx.actor, args.note[:500]),), {"closed": memory.id})
