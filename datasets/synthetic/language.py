"""The words of the synthetic world, the parts of its names, and how its four newspapers open, quote and close."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paper:
    """A newspaper: where it is published, how long its reports are, and how they open and close."""

    name: str
    host: str
    opening: str
    body: tuple[int, int]
    facts: tuple[int, int]
    quotes: tuple[int, int]
    closings: tuple[str, ...]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(" ".join(item.split()) for item in text.split(","))


def _lists(text: str) -> dict[str, tuple[str, ...]]:
    """Lists written as `name: item, item, …`; an indented line goes on with the list above it."""
    entries = text.strip().replace("\n    ", " ").split("\n")
    return {name: _listed(items) for name, _, items in (entry.partition(":") for entry in entries)}


WORDS = _lists("""
scheme: tram line, flood wall, night market, school roof, covered hall, ring road, water tower, fish quay, public
    bath, library wing, bus depot, clock tower, canal lock, playing field, stone bridge, ferry stage
quarter: harbour, mill, old, castle, station, upper, garden, weavers', lower, chapel, dock, market
group: shopkeepers, tenants, dockers, teachers, bakers, weavers, nurses, drivers, boatmen, students, pensioners,
    farmers, miners, printers, carters, clerks
verdict: welcomed, criticised, debated, approved, rejected, questioned, delayed, praised, mocked, defended
vote: a close vote, a show of hands, a secret ballot, a long debate, an angry session, a brief hearing
good: copper, timber, wool, barley, glass, salt, paper, tin, leather, cement, rope, linen, cobalt, tea, rubber,
    nickel, amber, flax
moved: rose, fell, slipped, climbed, held steady, tumbled, recovered, drifted lower, edged up, jumped
cause: the harvest, the rail dispute, the new tariff, a weak currency, strong demand, the dock fire, the frost, cheap
    imports, the budget, a lack of drivers, rumours of a sale, the drought
broker: brokers, traders, analysts, bankers, investors, buyers, dealers, lenders, auditors, savers
deal: a loan, a merger, a new share issue, a supply contract, a rescue plan, a pay deal, a price cut, a bond, a
    licence, a joint venture
play: a header, a penalty, a free kick, a long throw, a late run, a quick counter, a rebound, a volley
form: unbeaten, winless, in good form, short of strikers, tired, confident, nervous, hard to beat, wasteful
injury: a sore knee, a broken wrist, a pulled muscle, a fever, a twisted ankle, a suspension, a family matter
prize: the Amber Cup, the Coast League, the Valley Shield, the Founders Trophy, the Lantern Cup, the Northern Plate,
    the Union League, the Harvest Medal
art: painting, sculpture, theatre, opera, poetry, film, dance, pottery, weaving, photography, puppetry, jazz
mood: tender, bleak, comic, strange, bold, slow, bright, sombre, playful, angry, gentle, restless
venue: the Old Granary, the Corn Exchange, the Lantern House, the Tide Gallery, the Customs Hall, the Round Theatre,
    the Glass Pavilion, the Salt Cellar, the Signal Room, the Orchard Stage
piece: a novel, a short play, a symphony, a set of etchings, a silent film, a cycle of songs, a mural, a memoir, a
    ballet, a book of letters, a radio play, a tapestry
illness: river fever, winter cough, red measles, marsh flu, lead poisoning, hay asthma, scurvy, blue rash, sleeping
    sickness, whooping cough
device: a sensor, a vaccine, a battery, a telescope, a filter, a lens, a valve, a scanner, a robot arm, a seed bank, a
    laser, a weather buoy, a heat pump, a chip
finding: promising, doubtful, surprising, modest, clear, disputed, costly, encouraging, mixed
carrier: trams, ferries, freight trains, night buses, barges, lorries, express trains, school buses, cable cars,
    airships, taxis, delivery bicycles
fault: a signal fault, a landslip, a broken axle, a strike, a power cut, a burst pipe, fog, a burnt switch, a cracked
    rail, a lost anchor, a software error, ice
works: repairs, night shifts, safety checks, resurfacing, dredging, new timetables, test runs, track renewal
crime: theft, fraud, arson, smuggling, forgery, perjury, bribery, burglary, poaching, tax evasion, blackmail
evidence: a ledger, a letter, a recording, a torn map, a key, a bank slip, a photograph, a diary, a receipt, a boot
    print, a telegram, a witness
sentence: two years, a heavy fine, a warning, eight months, community work, a retrial, five years, probation
crop: barley, apples, hops, potatoes, beet, oats, plums, maize, lentils, cherries, rye, cabbage, grapes, beans
beast: sheep, dairy cows, geese, goats, pigs, bees, horses, hens, oxen, trout
plague: rust, mildew, locusts, root rot, aphids, slugs, blight, weevils, foot rot, swarming moths
fuel: wind, coal, tidal power, gas, solar heat, peat, steam, hydrogen, wood chip, geothermal heat, biogas, oil
plant: turbine, reactor, boiler, substation, dam gate, pylon line, pump house, furnace, grid cable, gas main
policy: the rent cap, the fuel levy, the school reform, the land tax, the border pact, the wage floor, the press law,
    the water charter, the fishing quota, the pension plan, the bread subsidy, the data code
stance: cautious, firm, hopeful, divided, silent, furious, patient, evasive, united, impatient
manner: in a surprise move, after weeks of rumours, to loud applause, without much notice, as expected, against all
    advice, for the first time in years, after a short delay, in spite of the cost, by common consent, to general
    relief, behind closed doors, at the last minute, once again
adverb: quietly, sharply, slowly, plainly, briefly, warmly, at once, with regret, steadily, loudly
hazard: gales, flooding, slippery roads, low clouds, thick fog, hail, dust storms, high tides, black ice, lightning,
    falling branches, pollen
""")

OBJECTS = _lists("""
region: Norlund, the Saltmarch, Upper Vess, the Halden Coast, Kestria, the Ambermoor, Lower Vess
river: Tamble, Orrin, Sable, Wend, Lisk, Brannoch, Eddle, Morrow, Quern, Isk, Dunmere, Larch
craft: glass blowing, clock making, smoked eel, sea salt, lace, bell founding, cider, boat building, tapestries,
    candied plums, saddles, blue pottery, printing, kites
product: steam valves, fishing nets, tram motors, bicycles, lenses, seed drills, ship paint, batteries, work boots,
    water pumps, tinned fish, oak barrels, radio sets, kiln bricks, wool coats, sugar
ground: Mill Lane, Castle Park, Ferry Road, the Gasworks, Tanner Field, Quarry End, the Old Dairy, Bell Meadow, Lock
    Street, Pear Tree Hill, the Brickyard, Abbey Close
colours: red and white, green and gold, black and amber, sky blue, maroon, purple and grey, navy and lime
training: an engineer, a lawyer, a surgeon, a baker, a teacher, a sailor, a botanist, a printer, an accountant, a
    stonemason, an actor, a chemist, a surveyor, a harpist, a farmer, a pilot
priority: cheaper bread, cleaner rivers, safer roads, rural schools, new hospitals, fewer forms, honest weights,
    faster trains, warm homes, open archives, stronger dykes, fair rents, better pay, quiet nights
""")

SEASONS = {
    season: {"sky": _listed(sky), "outing": _listed(outing)}
    for season, (sky, outing) in {
        "winter": (
            "sleet, snow showers, hard frost, freezing rain, drifts, bitter winds",
            "skating, the candle fair, carol evenings, the ice market, the wolf moon supper",
        ),
        "spring": (
            "sudden showers, blossom, mild mornings, melting snow, soft rain, bright spells",
            "the lamb fair, sowing week, the kite day, the blossom walk, the egg races",
        ),
        "summer": (
            "heat, thunderstorms, dry winds, warm nights, drought, sea mist",
            "bathing, the regatta, hay making, the lantern swim, the peach fair",
        ),
        "autumn": (
            "gales, heavy rain, morning fog, falling leaves, damp evenings, early frost",
            "the harvest supper, mushroom week, the cider run, the bonfire night, the goose market",
        ),
    }.items()
}

QUOTED = (
    '"{quote}," said {leader}.',
    '"{quote}," the {paper} was told by {leader}.',
    'In the words of {leader}: "{quote}."',
)

CONNECTIVES = ("Meanwhile, ", "At the same time, ", "In the end, ", "Even so, ", "Later that day, ", "Not far away, ")

PAPERS = (
    Paper("Wire", "wire.example", "{TOWN}, {weekday} (Wire) - ", (2, 4), (2, 4), (0, 1), ("More follows.", "(Wire)")),
    Paper(
        "Courier",
        "courier.example",
        "From our correspondent in {town}. ",
        (4, 7),
        (2, 4),
        (1, 3),
        ("The Courier will follow the matter.", "Readers in {town} may write to the editor.", "The rest is silence."),
    ),
    Paper(
        "Gazette",
        "gazette.example",
        "It is hereby reported from {town} on the {day} of {month}. ",
        (3, 5),
        (4, 7),
        (0, 1),
        ("By order of the registrar.", "Entered in the register of {month} {year}.", "Given at {town}."),
    ),
    Paper(
        "Bulletin",
        "bulletin.example",
        "{weekday} in brief: ",
        (1, 3),
        (2, 4),
        (0, 0),
        ("That is all for {weekday}.", "Next bulletin at {hour}."),
    ),
)

NAMES = _lists("""
first: Ilsa, Marten, Odile, Tobias, Renna, Casimir, Petra, Anselm, Yara, Lorens, Mirela, Joss, Helka, Dario, Sunniva,
    Emeric, Talia, Bram, Orsola, Viggo, Nadine, Kester, Ludmila, Rafe, Ines, Gideon, Fenna, Aurel, Britta, Stellan,
    Corisande, Ivo
onset: Ar, Bel, Cor, Dren, El, Fal, Gar, Hol, Is, Jor, Kel, Lor, Mar, Nev, Or, Pel, Quil, Ros, Sel, Tam, Ul, Ver, Wen
middle: a, an, ber, den, di, e, en, go, i, li, mo, na, o, ri, sa, ta, u, va, wi, zo
surname: ck, dal, fors, gren, ke, lund, mann, nov, rell, rin, sen, ski, tho, vic, wald, yer
town: bridge, by, combe, dale, ferry, ford, gate, haven, holm, mere, mouth, port, stead, stow, wick
firm: Works, Mills, Freight, Power, Foundry, Brothers, Trust, Metals, Lines, Chemicals, Motors, Textiles
story: more, ra, don, via, lin, stra, quay, moor, vane, dell
club: Rovers, United, Wanderers, Athletic, Harriers, Albion, Mariners, Swifts, Lanterns, Kestrels, Weavers
ministry: Transport, Health, Trade, Farming, Justice, Schools, Energy, Culture, Defence, Labour
""")
