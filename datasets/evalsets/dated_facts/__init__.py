"""Sets of dated facts: which value a fact took in which month, in whose place.

`from_wikidata` makes them from a dump of Wikidata (`relations.yaml` says of which properties and how each is asked),
and `world_facts` from the facts that come with the package. Both write the examples of `change`. `kairos` and `taqa`
read two released sets of questions by year. Start with `change`.
"""
