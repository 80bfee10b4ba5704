"""Models from anywhere as a report shows them.

`part` has the tables by period and by source, the sentences, and with them the whole part of a report. `charts` has
the pictures: the scores over the periods, and how far each model is from the first one. `wording` has the words that
both use. The differences and their intervals are those of `platform/analysis/models`.

Start with `part`.
"""
