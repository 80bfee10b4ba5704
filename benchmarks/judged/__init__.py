"""Precision of questions, by people who read them: draw a sample, record what readers say, and print the table.

`sample.py` draws questions from built sets of the kind evolving-questions, `verdicts.py` holds what a reader says of a
question, and `table.py` has precision with intervals and the agreement of readers. The rubric is in
`docs/evolvingqa.md`.
"""
