"""What the synthetic world writes about: topics, their headlines, sentences and quotes.

A slot in braces is a member of the document's cast (`town`, `other`, `firm`, `rival`, `subject`, `story`), a list of
WORDS or of the season (SEASONS), or a number or date; `synthetic_writing.py` fills them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """What news can be about: the kind of its subject, the stories it gives rise to, and its sentences."""

    name: str
    subject: str
    stories: tuple[str, ...]
    headlines: tuple[str, ...]
    sentences: tuple[str, ...]
    quotes: tuple[str, ...]


TOPICS = (
    Topic(
        "council",
        "town",
        ("inquiry", "charter", "housing plan"),
        (
            "{town} council argues over {scheme}",
            "{scheme} for {town} is {verdict}",
            "{group} of {town} ask for a {scheme}",
        ),
        (
            "The council of {town} has {verdict} the plan for a {scheme} after {vote}.",
            "Money for the {scheme} was found {manner}, and work in the {quarter} quarter will begin in {soon}.",
            "The {group} of the {quarter} quarter {verdict} the {scheme} and asked for {few} more meetings.",
            "Neighbouring {other} paid {money} for its {scheme} and does not regret it.",
            "Council tax in {town} will rise by {percent} per cent to pay for the {scheme}.",
            "A petition by {count} {group} was handed in {manner}.",
            "The hall was full, and the {group} spoke {adverb} for {few} hours.",
            "Plans for a {scheme} had been {verdict} {few} times before.",
        ),
        (
            "we shall build the {scheme} or explain why not",
            "the {group} deserve an answer",
            "nobody in the {quarter} quarter will be forgotten",
        ),
    ),
    Topic(
        "markets",
        "firm",
        ("merger", "share offer", "rescue fund"),
        ("{good} {moved} as {broker} watch {firm}", "{firm} seeks {deal}", "{broker} wary of {good} and {good}"),
        (
            "The price of {good} {moved} by {percent} per cent in {weekday} trading, and {broker} blamed {cause}.",
            "Shares in {firm} {moved} {manner}.",
            "{firm} has asked for {deal} worth {money}.",
            "Most {broker} in {town} expect {good} to follow {good} before the end of {month}.",
            "Orders for {good} {moved} in {town} because of {cause}.",
            "The {broker} of {other} prefer {good} and see little future in {good}.",
            "{firm} sold {count} tonnes of {good} in {month}, its accounts show.",
            "For an explanation the {broker} point to {cause}.",
        ),
        (
            "{good} is no longer a safe bet",
            "our {broker} asked for {deal} and they have it",
            "we saw {cause} coming",
        ),
    ),
    Topic(
        "sport",
        "club",
        ("cup", "stadium plan", "youth league"),
        ("{subject} {score} after {play}", "{subject} look {form} before {prize}", "{subject} set eyes on {prize}"),
        (
            "{subject} won {score} against {rival} thanks to {play} in the closing minutes.",
            "{subject} lost {score} to {rival} on {weekday}, and {play} settled it.",
            "The side looked {form}, and {rival} looked {form}.",
            "A crowd of {count} saw {play} and little else.",
            "{subject} must still do without a defender because of {injury}.",
            "Next come {rival} in {prize}, where {subject} have been {form}.",
            "After {few} games in {prize} the club from {town} is {form}.",
            "Supporters from {town} sang {adverb} until the end.",
        ),
        ("we were {form} and it showed", "{prize} is what we want", "{play} can decide any match"),
    ),
    Topic(
        "weather",
        "town",
        ("flood plan", "relief fund", "storm survey"),
        ("{sky} over {town}", "{town} warned of {hazard}", "{season} brings {sky} to {town} and {other}"),
        (
            "Forecasters expect {sky} over {town} on {weekday}, with {hazard} later.",
            "The {season} has so far brought {sky} and {hazard} to {town}.",
            "In {other} the night was spent under {sky}, and {count} homes were without power.",
            "Drivers were warned of {hazard} on the road from {town} to {other}.",
            "It was {degrees} degrees in {town} at noon, with {sky} in the hills.",
            "In the {quarter} quarter the {group} prepared {adverb} for {hazard}.",
            "Visitors still came for {outing}, in spite of {sky}.",
            "{outing} will be put off by a week because of {hazard}.",
        ),
        (
            "I have not seen such {sky} in {few} years",
            "stay at home until the danger of {hazard} is over",
            "{season} means {sky}",
        ),
    ),
    Topic(
        "culture",
        "town",
        ("festival", "exhibition", "film prize"),
        ("{venue} opens with {piece}", "{art} returns to {town}", "{mood} {art} at {venue}"),
        (
            "{venue} in {town} has opened its season of {art} with {piece}.",
            "Critics called the evening {mood} and the {art} {mood}.",
            "Tickets for {outing} and for {piece} sold out {manner}.",
            "The {art} school of {other} lent {few} works to {venue}.",
            "In {month} the same hall will show {piece}, a {mood} work on {art}.",
            "Young people from {town} prefer {art} to {art}, a survey of {count} {group} suggests.",
            "{piece}, {mood} and {mood}, drew {count} visitors in {few} days.",
            "{firm} paid for the {art} and for {piece}.",
        ),
        (
            "{art} should be {mood}",
            "{piece} needs a {mood} audience",
            "we came for the {art} and stayed for {outing}",
        ),
    ),
    Topic(
        "science",
        "office",
        ("trial", "expedition", "vaccine programme"),
        ("{device} tested in {town}", "Results on {illness} are {finding}", "{town} fights {illness}"),
        (
            "Researchers in {town} have tested {device} against {illness}, and the results are {finding}.",
            "Cases of {illness} in {town} {moved} by {percent} per cent in {month}.",
            "The laboratory in {other} built {device} with help from {firm}.",
            "A {finding} report on {illness} was published {manner}.",
            "Hospitals in {town} treated {count} people for {illness}.",
            "The {subject} will spend {money} on {device}.",
            "Other groups find the figures {finding} and ask for {few} more years of work.",
            "The team hopes that {device} will help with {illness} by {soon}.",
        ),
        (
            "the data on {illness} are {finding}",
            "{device} is not a cure for {illness}",
            "we need {few} more trials",
        ),
    ),
    Topic(
        "transport",
        "office",
        ("tunnel", "bridge", "rail link"),
        ("{fault} halts {carrier}", "{carrier} between {town} and {other} delayed", "{works} planned in {town}"),
        (
            "Passengers between {town} and {other} waited {few} hours on {weekday} after {fault}.",
            "The {carrier} of {town} will stop for {works} until {soon}.",
            "Because of {fault} the {carrier} ran late {manner}.",
            "The {subject} promised {works} and {few} new {carrier}.",
            "Fares on {carrier} rise by {percent} per cent in {soon}.",
            "{firm} will supply {carrier} to {town} for {money}.",
            "Most complaints are about {fault}, followed by {works}.",
            "Some {count} people use the {carrier} of {other} each day.",
        ),
        (
            "{carrier} must come first",
            "{fault} is no excuse",
            "the {works} will be over by {soon}",
        ),
    ),
    Topic(
        "courts",
        "town",
        ("hearing", "fraud case", "appeal"),
        ("{crime} trial opens in {town}", "{town} court hears of {evidence}", "{sentence} for {crime}"),
        (
            "A court in {town} has heard a case of {crime} in which {evidence} played the main part.",
            "The judge gave the accused {sentence} for {crime}.",
            "Police in {other} found {evidence} in the {quarter} quarter on {weekday}.",
            "The defence called {evidence} weak and the charge of {crime} absurd.",
            "Reports of {crime} in {town} {moved} in {month}, while {crime} {moved}.",
            "Lawyers for {firm} denied {crime} {adverb}.",
            "The case will go on for {few} weeks, and {sentence} is likely.",
            "Among the {group} of {town} the talk is of {crime} and {evidence}.",
        ),
        (
            "{evidence} does not lie",
            "{crime} hurts the {group} most",
            "{sentence} would be fair",
        ),
    ),
    Topic(
        "farming",
        "town",
        ("seed programme", "land reform", "dyke survey"),
        ("Fear of {plague} near {town}", "Good year for {crop}", "{beast} and {crop} at {town} show"),
        (
            "Growers near {town} fear for their {crop} because of {plague} and {sky}.",
            "The {crop} harvest around {other} {moved} by {percent} per cent.",
            "Prices for {beast} {moved} at the {town} show, and {crop} {moved}.",
            "Against {plague} the farmers of {town} rely on {beast}.",
            "After {sky} in {month} the {crop} came {few} weeks early.",
            "{firm} bought {count} sacks of {crop} for {money}.",
            "Some turn from {crop} to {crop}, and others sell their {beast}.",
            "{outing} will again be paid for with {crop}.",
        ),
        (
            "{plague} took half of the {crop}",
            "without {beast} there is no farm",
            "give us rain for the {crop} and not {sky}",
        ),
    ),
    Topic(
        "energy",
        "firm",
        ("dam", "wind park", "pipeline"),
        ("{plant} fails in {town}", "{firm} turns to {fuel}", "{fuel} or {fuel}: {town} decides"),
        (
            "{firm} will replace a {plant} near {town} and burn less {fuel}.",
            "After {fault} a {plant} in {town} stood still for {few} days.",
            "The share of {fuel} {moved} to {percent} per cent, while {fuel} {moved}.",
            "A new {plant} for {fuel} will cost {money}.",
            "In {other} the {group} prefer {fuel} to {fuel}.",
            "Bills {moved} in {month} because of {cause}.",
            "Engineers of {firm} inspected the {plant} {manner}.",
            "{fuel} now warms {count} homes in {town}.",
        ),
        (
            "{fuel} is cheaper than {fuel}",
            "the {plant} was safe",
            "we shall not build another {plant}",
        ),
    ),
    Topic(
        "government",
        "office",
        ("bill", "treaty", "commission"),
        ("Parliament {stance} on {policy}", "{policy} is {verdict}", "{group} march against {policy}"),
        (
            "Parliament has {verdict} {policy} {manner}.",
            "The {subject} remained {stance} on {policy} and {stance} on {policy}.",
            "In {town} the {group} marched for {policy}, and in {other} against it.",
            "The opposition, {stance} until now, {verdict} {policy} on {weekday}.",
            "Under {policy} the {group} would pay {money} more.",
            "A poll of {count} {group} finds the country {stance}.",
            "Members from {town} spoke {adverb} about {policy} after {vote}.",
            "The vote on {policy} is due in {soon}.",
        ),
        (
            "{policy} will stand",
            "we are {stance} because the {group} are",
            "{policy} was {verdict} too early",
        ),
    ),
)

ON_STORIES = (
    "The {story} was {verdict} by the {group} of {town} {manner}.",
    "Work on the {story} goes on {adverb}, and a report is due in {soon}.",
    "Asked about the {story}, the {group} were {stance}.",
    "The {story} has cost {money} so far.",
    "Everything now depends on the {story}, which {broker} have {verdict}.",
)
