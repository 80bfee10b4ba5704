"""Tasks: what a checkpoint is asked, and the numbers that its answers make.

`base` holds `Task`: its axis and labels, what it reads, and `measure`, which yields measurements. `packed_rows` scores
rows of a corpus, `documents` and `parts_of_speech` read whole texts, `dated_documents` texts behind dates, `facts`
triples, `questions` asks for answers, and `static` runs benchmarks. `subsets` gives tasks subsets as labels. `probes`
is the base of questions about single facts, `time_prompt` puts a date before them: `generated` compares what a model
writes, `steps` over two facts in a row, `answer_ranks` ranks the right answer, `preferred` sets it against an outdated
one. `gradients` asks how far an example would move the model. All ask through `answerer`.
"""
