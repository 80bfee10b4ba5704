"""Building blocks for sets of examples, shared by all kinds of evaluation sets.

`context` is the seam: an ExampleSetBuilder gets a BuildContext (staging folder, inputs, tasks) and yields a PeriodDraft
per period. Start there. The others are steps that builders use: `placing` finds the period of a record, `blanks` turns
sentences into fill-in-the-blank questions, `frames` joins months until they hold enough examples, `lengths` limits
queries and answers, and `word_tags` marks words with spaCy, `proper_nouns` or those of `parts_of_speech`. Concrete
builders live in `ticlm.datasets.evalsets`. `documents` goes the other way: it reads a set that was built as the
documents, or the pairs, of a corpus.
"""
