"""What the offline generator knows of trades: the words that tell one, its departments, seats, work, clients.

Titles are ours; codes are O*NET-SOC codes of the shipped index. The first department is the head's, the one with
`quality` set reviews, the one with `leads` set leads engagements, the one with `runs` set runs the office.
"""

from __future__ import annotations

import re

import msgspec

Post = tuple[str, str]
"""(title, O*NET-SOC code)."""


class Part(msgspec.Struct, frozen=True):
    """A department and the posts people may hold in it, the most usual first."""

    name: str
    purpose: str
    posts: tuple[Post, ...]


class Trade(msgspec.Struct, frozen=True):
    """A kind of firm. `words` are stems that tell it in a brief; `suffixes` end its name; `clients` are sectors it
    serves."""

    domain: str
    firm: str
    words: tuple[str, ...]
    suffixes: tuple[str, ...]
    head: Part
    leads: Part
    quality: Part
    runs: Part
    work: tuple[Part, ...]
    kinds: tuple[str, ...]
    clients: tuple[str, ...]
    contact: tuple[str, ...]


_RUNS = Part(
    "Operations",
    "Systems, records and the running of the office.",
    (
        ("Office manager", "43-1011.00"),
        ("Operations analyst", "15-2051.01"),
        ("Executive assistant", "43-6011.00"),
        ("Support specialist", "15-1232.00"),
    ),
)
_FINANCE = Trade(
    "finance",
    "an accounting and advisory firm",
    (
        "account",
        "audit",
        "bookkeep",
        "tax",
        "payroll",
        "financ",
        "treasur",
        "bank",
        "invest",
        "insur",
        "actuar",
        "fund",
        "budget",
        "ledger",
    ),
    ("Accounts", "Advisers", "Partners", "Reckoning"),
    Part("Leadership", "Runs the firm and answers for it.", (("Managing partner", "11-1011.00"),)),
    Part("Client Services", "Leads engagements and releases work to clients.", (("Engagement manager", "11-3031.01"),)),
    Part(
        "Quality and Risk",
        "Signs off what leaves the firm.",
        (("Quality reviewer", "13-2011.00"), ("Risk manager", "11-9199.02")),
    ),
    _RUNS,
    (
        Part(
            "Assurance",
            "Reconciles and closes the books.",
            (("Senior accountant", "13-2011.00"), ("Bookkeeper", "43-3031.00")),
        ),
        Part(
            "Advisory",
            "Explains what the figures mean.",
            (("Financial analyst", "13-2051.00"), ("Budget analyst", "13-2031.00")),
        ),
        Part("Tax", "Returns and the questions before them.", (("Tax accountant", "13-2082.00"),)),
        Part("Payroll", "Pays people right and on the day.", (("Payroll officer", "43-3051.00"),)),
    ),
    ("bank-reconciliation", "variance-analysis", "management-pack", "records-digest"),
    ("outdoor retail", "precision manufacturing", "hotels", "software", "food", "housing"),
    ("Finance Director", "Financial Controller", "Head of Finance"),
)
_LEGAL = Trade(
    "legal",
    "a law practice",
    (
        "law",
        "legal",
        "attorney",
        "solicitor",
        "barrister",
        "counsel",
        "contract",
        "complian",
        "notar",
        "patent",
        "litig",
        "paralegal",
    ),
    ("Law", "Chambers", "Legal", "Counsel"),
    Part("Partners", "Heads the practice.", (("Managing partner", "23-1011.00"),)),
    Part("Client Matters", "Leads matters and speaks for the practice.", (("Senior counsel", "23-1011.00"),)),
    Part(
        "Risk and Compliance",
        "Reviews advice before it is given.",
        (("Compliance reviewer", "13-1041.00"), ("Compliance manager", "11-9199.02")),
    ),
    Part(
        "Practice Office",
        "Files, dates and the running of the practice.",
        (("Practice manager", "43-1011.00"), ("Legal secretary", "43-6012.00")),
    ),
    (
        Part(
            "Commercial",
            "Contracts and what follows from them.",
            (("Associate lawyer", "23-1011.00"), ("Paralegal", "23-2011.00")),
        ),
        Part(
            "Disputes",
            "Claims, notices and deadlines.",
            (("Disputes lawyer", "23-1011.00"), ("Paralegal", "23-2011.00")),
        ),
        Part("Property", "Leases and titles.", (("Property lawyer", "23-1011.00"), ("Paralegal", "23-2011.00"))),
        Part("Regulatory", "What authorities ask for.", (("Compliance analyst", "13-1041.00"),)),
    ),
    ("contract-review", "records-digest"),
    ("logistics", "hotels", "software", "construction", "food", "clinics"),
    ("General Counsel", "Head of Contracts", "Company Secretary"),
)
_CLINICAL = Trade(
    "clinical",
    "a clinical operations group",
    (
        "clinic",
        "trial",
        "biotech",
        "pharma",
        "hospital",
        "health",
        "medic",
        "nurs",
        "patient",
        "drug",
        "biostat",
        "therap",
        "life science",
    ),
    ("Clinical", "Trials", "Health Research", "Studies"),
    Part("Direction", "Heads the group.", (("Head of clinical operations", "11-9111.00"),)),
    Part("Study Management", "Leads studies and speaks to sponsors.", (("Study manager", "11-9111.00"),)),
    Part(
        "Quality Assurance",
        "Signs off what sponsors receive.",
        (("Clinical quality reviewer", "13-1041.07"), ("Compliance officer", "13-1041.00")),
    ),
    Part(
        "Study Support",
        "Files, supplies and the running of the group.",
        (("Trial assistant", "43-6013.00"), ("Office manager", "43-1011.00")),
    ),
    (
        Part("Monitoring", "Visits, windows and deviations.", (("Clinical monitor", "13-1041.07"),)),
        Part(
            "Data Management",
            "Records that can be relied on.",
            (("Clinical data manager", "15-1211.01"), ("Records specialist", "29-2072.00")),
        ),
        Part("Biostatistics", "Says what the records show.", (("Biostatistician", "15-2041.00"),)),
        Part("Regulatory Affairs", "What authorities ask for.", (("Regulatory specialist", "13-1041.07"),)),
    ),
    ("trial-monitoring", "records-digest"),
    ("biotech", "pharma", "medical devices", "clinics"),
    ("Clinical Program Lead", "Study Sponsor Lead", "Head of Development"),
)
_QUALITY = Trade(
    "quality",
    "an engineering and inspection firm",
    (
        "quality",
        "manufactur",
        "engineer",
        "inspect",
        "factory",
        "logistic",
        "supply",
        "warehous",
        "procure",
        "mechanic",
        "civil",
        "aerospace",
        "automotive",
        "laborator",
        "metrolog",
        "freight",
        "plant",
    ),
    ("Engineering", "Metrology", "Inspection", "Works"),
    Part("Direction", "Heads the firm.", (("Engineering director", "11-9041.00"),)),
    Part("Programmes", "Leads programmes and speaks to clients.", (("Programme manager", "13-1082.00"),)),
    Part(
        "Quality Assurance",
        "Signs off what clients receive.",
        (("Quality manager", "11-9041.00"), ("Compliance officer", "13-1041.00")),
    ),
    _RUNS,
    (
        Part("Inspection", "Measures parts against their limits.", (("Quality engineer", "17-2141.00"),)),
        Part(
            "Engineering",
            "Finds causes and mends them.",
            (("Mechanical engineer", "17-2141.00"), ("Civil engineer", "17-2051.00")),
        ),
        Part(
            "Supply Chain",
            "Suppliers, lots and deliveries.",
            (("Logistics analyst", "13-1081.02"), ("Buyer", "13-1023.00")),
        ),
        Part("Analysis", "Reads what the measurements say.", (("Operations researcher", "15-2031.00"),)),
    ),
    ("inspection-control", "records-digest"),
    ("precision manufacturing", "motor works", "medical devices", "steel tools"),
    ("Plant Manager", "Head of Quality", "Purchasing Director"),
)
_SOFTWARE = Trade(
    "software",
    "a software house",
    (
        "software",
        "app",
        "data",
        "cyber",
        "saas",
        "cloud",
        "platform",
        "developer",
        "devops",
        "web",
        "tech",
        "machine learning",
        "it support",
        "information security",
        "programm",
        "release",
        "computer",
    ),
    ("Software", "Systems", "Labs", "Digital"),
    Part("Direction", "Heads the house.", (("Head of technology", "11-3021.00"),)),
    Part("Delivery", "Leads projects and speaks to clients.", (("Delivery manager", "13-1082.00"),)),
    Part(
        "Release Quality", "Signs off what ships.", (("Test lead", "15-1253.00"), ("Security reviewer", "15-1212.00"))
    ),
    Part(
        "Support",
        "Helps users and runs the office.",
        (("Support specialist", "15-1232.00"), ("Office manager", "43-1011.00")),
    ),
    (
        Part("Engineering", "Builds and mends.", (("Software engineer", "15-1252.00"),)),
        Part("Testing", "Finds what does not work.", (("Test engineer", "15-1253.00"),)),
        Part(
            "Data",
            "Says what the records show.",
            (("Data scientist", "15-2051.00"), ("Reporting analyst", "15-2051.01")),
        ),
        Part(
            "Product",
            "Decides what is worth building.",
            (("Systems analyst", "15-1211.00"), ("Technical writer", "27-3042.00")),
        ),
    ),
    ("release-triage", "records-digest"),
    ("banking apps", "clinics", "outdoor retail", "logistics", "food"),
    ("Product Owner", "Head of Digital", "Chief Technology Officer"),
)
_DESIGN = Trade(
    "design",
    "a design studio",
    (
        "design",
        "architect",
        "studio",
        "interior",
        "graphic",
        "brand",
        "furniture",
        "draft",
        "fashion",
        "media",
        "illustrat",
        "publish",
        "editor",
    ),
    ("Studio", "Design", "Atelier", "Workshop"),
    Part("Direction", "Heads the studio.", (("Design director", "27-1011.00"),)),
    Part("Projects", "Leads projects and speaks to clients.", (("Project lead", "13-1082.00"),)),
    Part("Review", "Signs off what leaves the studio.", (("Design reviewer", "27-1011.00"), ("Editor", "27-3041.00"))),
    _RUNS,
    (
        Part(
            "Product Design",
            "From need to form.",
            (("Product designer", "15-1255.00"), ("Graphic designer", "27-1024.00")),
        ),
        Part("Drafting", "From form to drawing.", (("Drafter", "17-3011.00"), ("Architect", "17-1011.00"))),
        Part(
            "Cost and Sourcing",
            "What it is made of and what it costs.",
            (("Cost estimator", "13-1051.00"), ("Buyer", "13-1023.00")),
        ),
        Part("Interiors", "Rooms that work.", (("Interior designer", "27-1025.00"),)),
    ),
    ("bill-of-materials", "records-digest"),
    ("outdoor retail", "medical devices", "hotels", "housing", "precision manufacturing"),
    ("Head of Product", "Purchasing Manager", "Founder"),
)
_GENERAL = Trade(
    "general",
    "a general professional office",
    (
        "consult",
        "marketing",
        "human resources",
        "hr ",
        "recruit",
        "event",
        "real estate",
        "property",
        "research",
        "survey",
        "econom",
        "public relations",
        "facilit",
        "advis",
        "strategy",
        "training",
        "advertis",
        "general office",
    ),
    ("Partners", "Group", "Associates", "Bureau"),
    Part("Direction", "Heads the firm.", (("Managing director", "11-1021.00"),)),
    Part("Engagements", "Leads engagements and speaks to clients.", (("Engagement lead", "13-1082.00"),)),
    Part("Review", "Signs off what leaves the firm.", (("Quality reviewer", "13-1041.00"),)),
    _RUNS,
    (
        Part("Consulting", "Finds out what is so and what to do.", (("Management consultant", "13-1111.00"),)),
        Part(
            "Research",
            "Asks, counts and explains.",
            (("Research analyst", "19-3022.00"), ("Market analyst", "13-1161.00")),
        ),
        Part(
            "Communications",
            "Says it so that it is understood.",
            (("Communications officer", "27-3031.00"), ("Marketing manager", "11-2021.00")),
        ),
        Part("People", "Hires, trains and keeps.", (("People specialist", "13-1071.00"), ("Trainer", "13-1151.00"))),
    ),
    ("records-digest", "contract-review"),
    ("outdoor retail", "software", "hotels", "housing", "food", "clinics"),
    ("Managing Director", "Head of Operations", "Programme Lead"),
)
TRADES = (_FINANCE, _LEGAL, _CLINICAL, _QUALITY, _SOFTWARE, _DESIGN, _GENERAL)
BY_DOMAIN = {trade.domain: trade for trade in TRADES}

SECTOR_ENDINGS: dict[str, tuple[str, ...]] = {
    "biotech": ("Bio", "Therapeutics", "Biotech"),
    "pharma": ("Pharma", "Medicines"),
    "medical devices": ("Devices", "Medical"),
    "clinics": ("Clinics", "Health"),
    "outdoor retail": ("Outdoor", "Trail Goods"),
    "precision manufacturing": ("Instruments", "Works"),
    "motor works": ("Motor Works", "Motors"),
    "steel tools": ("Steel", "Tools"),
    "hotels": ("Hotels", "Inns"),
    "software": ("Software", "Systems"),
    "banking apps": ("Apps", "Digital"),
    "food": ("Foods", "Kitchen", "Bakery"),
    "housing": ("Homes", "Housing"),
    "construction": ("Construction", "Build"),
    "logistics": ("Freight", "Logistics"),
}
_SECTOR_WORDS = {
    "bio": "biotech",
    "pharma": "pharma",
    "drug": "pharma",
    "device": "medical devices",
    "clinic": "clinics",
    "hospital": "clinics",
    "retail": "outdoor retail",
    "shop": "outdoor retail",
    "manufactur": "precision manufacturing",
    "factor": "precision manufacturing",
    "hotel": "hotels",
    "software": "software",
    "tech": "software",
    "start": "software",
    "food": "food",
    "restaurant": "food",
    "bakery": "food",
    "bakeries": "food",
    "hous": "housing",
    "propert": "housing",
    "build": "construction",
    "construct": "construction",
    "logistic": "logistics",
    "freight": "logistics",
    "shipping": "logistics",
    "bank": "banking apps",
    "motor": "motor works",
    "automotive": "motor works",
    "car ": "motor works",
}
_JOINT = re.compile(r"\b(?:serving|serves|for|with .*?clients|whose clients|that serve|who serve)\b")


def halves(brief: str) -> tuple[str, str]:
    """Split a brief into what it says of the firm and what it says of those it serves."""
    text = f"{brief.lower()} "
    found = _JOINT.search(text)
    return (text[: found.start()], text[found.start() :]) if found else (text, "")


def score(trade: Trade, text: str) -> int:
    """How often a text uses the words of a trade. Stems count at the beginning of a word only."""
    return sum(len(re.findall(rf"\b{re.escape(word)}", text)) for word in trade.words)


def sectors(text: str) -> list[str]:
    """Return the sectors that a text names, in order."""
    found = [(re.search(rf"\b{re.escape(word)}", text), sector) for word, sector in _SECTOR_WORDS.items()]
    hits = sorted((match.start(), sector) for match, sector in found if match)
    return list(dict.fromkeys(sector for _, sector in hits))
