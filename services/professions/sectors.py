"""Names and descriptions by sector, so that a client's papers read like its trade. All names are invented."""

from __future__ import annotations

import msgspec

from simulator.randomness import Stream


class Sector(msgspec.Struct, frozen=True):
    """The words of a trade: from whom it buys, to whom it sells, what, and the words in client names that tell it."""

    name: str
    hints: tuple[str, ...]
    vendors: tuple[str, ...]
    customers: tuple[str, ...]
    goods: tuple[str, ...]
    categories: tuple[str, ...]


SECTORS = (
    Sector(
        "outdoor retail",
        ("outdoor", "sport", "trail", "shop", "store", "retail", "market", "goods", "cycle"),
        ("Alder Packs", "Fjell Apparel", "Cedar Tents", "Summit Footwear", "Lakeside Optics", "Northline Rope"),
        ("Store 1 takings", "Store 2 takings", "Web shop payout", "Hiking club order", "School camp order"),
        ("tents", "boots", "rucksacks", "stoves", "rain shells", "climbing rope"),
        ("Stock", "Store costs", "Web shop", "Freight", "Refunds", "Staff", "Marketing"),
    ),
    Sector(
        "manufacturing",
        ("works", "tool", "motor", "machine", "steel", "industr", "manufactur", "fabric", "devices", "instrument"),
        ("Haas Castings", "Brightwell Bearings", "Tyne Steel", "Orme Coatings", "Delta Fasteners", "Kiln Ceramics"),
        ("Marlow Pumps", "Westgate Tractors", "Corrigan Rail", "Helix Turbines", "Stade Conveyors"),
        ("housings", "shafts", "brackets", "valve bodies", "gear sets", "seal rings"),
        ("Raw material", "Tooling", "Energy", "Freight", "Scrap credits", "Maintenance", "Wages"),
    ),
    Sector(
        "health care",
        ("clinic", "health", "medic", "pharma", "bio", "therap", "care", "hospital", "dental", "trial"),
        ("Meridian Diagnostics", "Saffron Pharma", "Cold Chain Logistics", "Ivy Linen Service", "Lumen Imaging"),
        ("Regional health fund", "Patient co-payments", "Harbour insurance", "Study sponsor milestone", "Grant draw"),
        ("assay kits", "sterile packs", "reference samples", "infusion sets", "sample shipping"),
        ("Laboratory", "Patient travel", "Site fees", "Consumables", "Refunds", "Equipment", "Training"),
    ),
    Sector(
        "software",
        ("soft", "tech", "data", "cloud", "app", "digital", "systems", "labs", "net", "ai"),
        ("Granite Hosting", "Pelican CDN", "Quill Analytics", "Mosaic Contractors", "Tern Security Audits"),
        ("Annual licence, Castor Bank", "Subscriptions payout", "Support plan, Orin Foods", "Pilot, City of Velden"),
        ("licences", "support plans", "migration days", "training seats", "hosting"),
        ("Hosting", "Contractors", "Licences", "Travel", "Refunds", "Equipment", "Recruiting"),
    ),
    Sector(
        "food and hospitality",
        ("food", "bakery", "cafe", "coffee", "hotel", "kitchen", "farm", "wine", "brew", "restaurant", "juice"),
        ("Millbrook Flour", "Orchard Dairy", "Port Fish Auction", "Green Crate Produce", "Ember Roasters"),
        ("Card takings, main house", "Card takings, terrace", "Catering, Vale school", "Wholesale, Inn at Bridge"),
        ("bread", "coffee beans", "preserves", "set menus", "gift boxes"),
        ("Ingredients", "Packaging", "Wages", "Energy", "Refunds", "Cleaning", "Events"),
    ),
    Sector(
        "property and construction",
        ("build", "construct", "property", "estate", "homes", "housing", "architect", "design", "studio", "timber"),
        ("Stonegate Aggregates", "Plumb & Level Survey", "Rowan Joinery", "Atlas Crane Hire", "Clearview Glazing"),
        ("Stage payment, Quay Lofts", "Rent, 14 Mill Lane", "Stage payment, Hill School", "Retention, Dock Street"),
        ("window units", "timber frames", "stair flights", "site days", "fit-out"),
        ("Materials", "Subcontractors", "Plant hire", "Permits", "Refunds", "Insurance", "Site costs"),
    ),
)

PEOPLE = ("Ada Lindqvist", "Bruno Sato", "Carla Mensah", "Dev Patel", "Edith Moreau", "Farid Haddad", "Greta Novak",
          "Hugo Brandt", "Ines Oliveira", "Jonas Weber", "Kofi Asante", "Lena Fischer")  # fmt: skip


def sector_of(client: str, seed: int) -> Sector:
    """Return the client's sector: the one its name hints at, else a drawn one."""
    words = client.casefold()
    for sector in SECTORS:
        if any(hint in words for hint in sector.hints):
            return sector
    return Stream(seed, "professions", "sector", client).choice(SECTORS)
