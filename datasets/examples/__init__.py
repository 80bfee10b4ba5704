"""Building blocks for sets of examples, shared by all kinds of evaluation sets.

`context` is the seam: an ExampleSetBuilder gets a BuildContext (staging folder, inputs, tasks) and yields a PeriodDraft
per period. Start there. Builders use the others as steps: `placing` finds the period of a record, `blanks` turns
sentences into fill-in-the-blank questions, `lengths` limits queries and answers, and `word_tags` marks proper nouns, or
words by part of speech, with spaCy. Concrete builders live in `ticlm.datasets.evalsets`. `documents` goes the other
way: it reads a finished set as the documents, or the pairs, of a corpus.
"""
