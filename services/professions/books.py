"""A client's double-entry books, month by month, from which bank activity, cash ledger and actuals are all read.

A month's flows are drawn from a stream of their own. A flow reaches the ledger and the bank at dates of their own, so
that what month n leaves open is found in the papers of month n + 1 or n + 2. No month needs to know all earlier ones.
"""

from __future__ import annotations

import msgspec

from services.professions.periods import Span
from services.professions.sectors import sector_of
from simulator.randomness import Stream

CASH = "1000"
ACCOUNTS = {
    "1000": "Cash", "1100": "Receivables", "1500": "Accumulated depreciation", "2000": "Payables", "2200": "Taxes due",
    "4000": "Sales", "4900": "Interest income", "5000": "Cost of goods", "6100": "Wages", "6110": "Payroll taxes",
    "6200": "Rent", "6300": "Energy", "6400": "Insurance", "6500": "Depreciation", "6600": "Software",
    "6700": "Travel", "6800": "Training", "6900": "Bank charges", "6950": "Legal fees",
}  # fmt: skip
LOOK_BACK = 2


class Posting(msgspec.Struct, frozen=True):
    """One line of the bank statement or of the cash ledger; `amount` in cents, money coming in is positive."""

    date: str
    ref: str
    description: str
    account: str
    amount: int


class Flow(msgspec.Struct, frozen=True):
    """One economic event with what it leaves on the bank statement and in the cash ledger, in whichever month."""

    bank: tuple[Posting, ...]
    ledger: tuple[Posting, ...]


class Credit(msgspec.Struct, frozen=True):
    """A vendor credit; `evidence` is the document that supports it, empty where the client has none."""

    ref: str
    vendor: str
    amount: int
    evidence: str


class Books(msgspec.Struct, frozen=True):
    """One period of a client's books; `actuals` are its movements by account, debits positive, adding to zero."""

    bank: tuple[Posting, ...]
    ledger: tuple[Posting, ...]
    actuals: dict[str, int]
    credits: tuple[Credit, ...] | None


class _Desk:
    """Draws the flows of one period."""

    def __init__(self, client: str, at: Span, seed: int) -> None:
        self.draw = Stream(seed, "books", client, at.name)
        self.at = at
        self.sector = sector_of(client, seed)
        self.scale = scale_of(client, seed)
        self.rent = Stream(seed, "books", client, "rent").between(900, 4200) * 100
        self.count = 0

    def amount(self, low: int, high: int) -> int:
        """Return a drawn amount in cents between `low` and `high` units at the client's scale."""
        return self.draw.between(low * self.scale, high * self.scale)

    def ref(self, prefix: str) -> str:
        """Return the next document number of the period."""
        self.count += 1
        return f"{prefix}-{self.at.code}-{self.count:03d}"

    def flow(self, prefix: str, words: str, account: str, amount: int, nth: int, lag: int) -> Flow:
        """Return a flow booked on the `nth` day of 31 that reaches the bank `lag` days later, scaled to the period."""
        ref, day = self.ref(prefix), self.at.day(nth)
        lag = lag * self.at.days // 31 if lag < self.at.days else lag
        ledger = Posting(self.at.date(day), ref, words, account, amount)
        return Flow((msgspec.structs.replace(ledger, date=self.at.date(day + lag)),), (ledger,))

    def bank_first(self, prefix: str, words: str, account: str, amount: int) -> Flow:
        """Return a flow that the bank knows at the period's end and the books at once or only in the next period."""
        ref, last = self.ref(prefix), self.at.days
        booked = last + self.draw.between(2, 5) if self.draw.chance(3, 5) else last
        bank = Posting(self.at.date(self.draw.between(last - 3, last)), ref, words, account, amount)
        return Flow((bank,), (msgspec.structs.replace(bank, date=self.at.date(booked)),))


def scale_of(client: str, seed: int) -> int:
    """Return how large a client is: the cents that one unit of business is worth."""
    return Stream(seed, "books", client, "scale").between(60, 260) * 40


def flows(client: str, at: Span, seed: int) -> list[Flow]:
    """Return the flows that begin in a period, in order of drawing."""
    desk = _Desk(client, at, seed)
    return [*_regular(desk), *_trade(desk), *_awkward(desk)]


def _regular(desk: _Desk) -> list[Flow]:
    """Return what recurs every month: rent, wages, energy, taxes, charges, interest."""
    draw = desk.draw
    out = [
        desk.flow("ACH", "Rent", "6200", -desk.rent, 1, 0),
        desk.flow("PAY", "Wages, first run", "6100", -desk.amount(40, 60), 15, 0),
        desk.flow("PAY", "Wages, second run", "6100", -desk.amount(40, 60), 31 - draw.below(3), 0),
        desk.flow("ACH", "Energy supplier", "6300", -desk.amount(3, 9), draw.between(8, 14), draw.below(3)),
        desk.flow("TAX", "Tax payment", "2200", -desk.amount(10, 30), draw.between(10, 20), draw.below(2)),
        desk.bank_first("FEE", "Account charges", "6900", -draw.between(900, 9500)),
    ]
    if draw.chance(1, 2):
        out.append(desk.bank_first("INT", "Interest credited", "4900", draw.between(120, 6800)))
    if draw.chance(1, 3):
        out.append(desk.flow("ACH", "Insurance premium", "6400", -desk.amount(6, 16), draw.between(3, 25), 1))
    return out


def _trade(desk: _Desk) -> list[Flow]:
    """Return deposits and payments, some of which reach the bank only in the next month or the one after."""
    draw, out = desk.draw, []
    for _ in range(draw.between(6, 14)):
        customer = draw.choice(desk.sector.customers)
        lag = draw.between(0, 3)
        out.append(desk.flow("DEP", f"Deposit {customer}", "1100", desk.amount(15, 80), draw.between(1, 31), lag))
    for _ in range(draw.between(6, 16)):
        vendor, goods = draw.choice(desk.sector.vendors), draw.choice(desk.sector.goods)
        lag = draw.between(desk.at.days + 4, 2 * desk.at.days - 1) if draw.chance(1, 12) else draw.between(1, 9)
        out.append(desk.flow("CHQ", f"{vendor}, {goods}", "2000", -desk.amount(4, 45), draw.between(1, 31), lag))
    for account, words in (("6600", "Software subscription"), ("6700", "Travel claims"), ("6950", "Legal adviser")):
        if draw.chance(1, 2):
            out.append(desk.flow("ACH", words, account, -desk.amount(2, 14), draw.between(2, 29), draw.below(2)))
    return out


def _awkward(desk: _Desk) -> list[Flow]:
    """Return what goes wrong: unequal amounts, doubled charges, cheques that nobody presents, receipts nobody knows."""
    draw, out = desk.draw, []
    for _ in range(draw.between(0, 2)):
        gross = desk.amount(10, 50)
        flow = desk.flow("CRD", "Card settlement", "4000", gross, draw.between(3, 24), 1)
        fee = draw.between(gross // 60, gross // 30) + 1
        out.append(Flow((msgspec.structs.replace(flow.bank[0], amount=gross - fee),), flow.ledger))
    if draw.chance(1, 3):
        flow = desk.flow("CHQ", f"{draw.choice(desk.sector.vendors)}, keyed by hand", "2000", -desk.amount(5, 30), 9, 4)
        swapped = flow.bank[0].amount + draw.choice((-900, -90, 90, 900))
        out.append(Flow(flow.bank, (msgspec.structs.replace(flow.ledger[0], amount=swapped),)))
    if draw.chance(1, 3):
        flow = desk.flow("ACH", f"{draw.choice(desk.sector.vendors)}, direct debit", "2000", -desk.amount(3, 12), 18, 1)
        again = msgspec.structs.replace(flow.bank[0], date=desk.at.date(desk.at.day(18) + 2))
        booked = msgspec.structs.replace(flow.ledger[0], date=desk.at.date(desk.at.days + draw.between(2, 5)))
        out.append(Flow((*flow.bank, again), (*flow.ledger, booked) if draw.chance(1, 2) else flow.ledger))
    if draw.chance(1, 4):
        flow = desk.flow(
            "CHQ", f"{draw.choice(desk.sector.vendors)}, never presented", "2000", -desk.amount(1, 6), 20, 0
        )
        out.append(Flow((), flow.ledger))
    if draw.chance(1, 4):
        flow = desk.flow(
            "DEP", "Incoming transfer, payer not named", "1100", desk.amount(2, 20), draw.between(4, 27), 0
        )
        out.append(Flow(flow.bank, ()))
    return out


def _credits(client: str, at: Span, seed: int) -> list[Credit]:
    """Return the vendor credits first sent in a month."""
    draw = Stream(seed, "credits", client, at.name)
    sector = sector_of(client, seed)
    out = []
    for number in range(draw.between(0, 5)):
        ref = f"CR-{at.code}-{number + 1:02d}"
        proof = f"credit note {draw.between(1000, 9999)}" if draw.chance(3, 5) else ""
        out.append(Credit(ref, draw.choice(sector.vendors), draw.between(2_500, 180_000), proof))
    return out


def _credit_list(client: str, at: Span, seed: int) -> tuple[Credit, ...] | None:
    """Return the month's list: new credits, and last month's unsupported ones, most of them with their evidence."""
    draw = Stream(seed, "credit evidence", client, at.name)
    listed = []
    for credit in _credits(client, at.back(1), seed):
        if not credit.evidence:
            proof = f"vendor statement {at.name}" if draw.chance(2, 3) else ""
            listed.append(msgspec.structs.replace(credit, evidence=proof))
    listed += _credits(client, at, seed)
    return tuple(listed) or None


def books(client: str, at: Span, seed: int) -> Books:
    """Return one month of the client's books."""
    begun = [flow for back in range(LOOK_BACK, -1, -1) for flow in flows(client, at.back(back), seed)]
    bank = [posting for flow in begun for posting in flow.bank if at.holds(posting.date)]
    ledger = [posting for flow in begun for posting in flow.ledger if at.holds(posting.date)]
    actuals: dict[str, int] = {CASH: 0}
    for posting in ledger:
        actuals[CASH] += posting.amount
        actuals[posting.account] = actuals.get(posting.account, 0) - posting.amount
    for debit, credit, amount in _accruals(client, at, seed):
        actuals[debit] = actuals.get(debit, 0) + amount
        actuals[credit] = actuals.get(credit, 0) - amount
    order = Stream(seed, "books order", client, at.name)
    return Books(
        tuple(sorted(bank, key=lambda posting: (posting.date, posting.ref))),
        tuple(sorted(order.shuffled(ledger), key=lambda posting: posting.date)),
        dict(sorted(actuals.items())),
        _credit_list(client, at, seed),
    )


def _accruals(client: str, at: Span, seed: int) -> list[tuple[str, str, int]]:
    """Return the entries of a month that touch no cash: (debited account, credited account, cents)."""
    draw = Stream(seed, "accruals", client, at.name)
    scale = scale_of(client, seed)
    return [
        ("1100", "4000", draw.between(380 * scale, 620 * scale)),
        ("5000", "2000", draw.between(180 * scale, 320 * scale)),
        ("6500", "1500", 12 * scale),
        ("6110", "2200", draw.between(10 * scale, 22 * scale)),
    ]


def budget(client: str, at: Span, seed: int) -> dict[str, int]:
    """Return a period's budget by account in cents: three earlier periods, with growth, rounded.

    A couple of accounts have a budget of nothing, and training is budgeted though it rarely happens.
    """
    into = at.number % 12
    draw = Stream(seed, "budget", client, at.number // 12, at.rhythm.step)
    samples = [books(client, at.back(into + earlier), seed).actuals for earlier in (4, 8, 12)]
    growth = draw.between(98, 107)
    out = {}
    for account in sorted({account for sample in samples for account in sample} | {"6800"}):
        mean = sum(sample.get(account, 0) for sample in samples) * growth // 300
        out[account] = (mean + 2_500) // 5_000 * 5_000
    out["6800"] = draw.between(2, 12) * 10_000
    for account in draw.shuffled([account for account in ("6700", "6950", "6400", "4900") if account in out])[:2]:
        out[account] = 0
    season = Stream(seed, "budget season", client, at.name).choice((95, 100, 100, 105))
    return {account: amount * season // 100 // 100 * 100 for account, amount in out.items()}
