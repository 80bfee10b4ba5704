"""The section of a report that holds claims against a study: `tables: [{kind: claims}]`.

`settings` says what is claimed: that some methods score above others, or like them. `verdicts` measures the differences
over first models and seeds and says whether a claim holds, does not hold, or cannot be told; `part` makes the table and
the sentence.

Start with `verdicts.judge`.
"""
