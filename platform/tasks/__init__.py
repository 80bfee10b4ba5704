"""Tasks: what a checkpoint is asked, and the numbers that its answers make.

`base` holds `Task`: its axis and labels, what it reads, and `measure`, which yields measurements. `packed_rows` scores
rows of a corpus, `documents` reads whole texts, `questions` asks for answers, and `static` runs benchmarks through
lm-evaluation-harness. `subsets` gives tasks subsets as labels. `probes` is the base of questions about single facts,
`time_prompt` puts a date before them: `generated` compares what a model writes, `answer_ranks` ranks the right answer,
`preferred` sets it against an outdated one. `gradients` asks how far an example would move the model. All of them ask
the model through the protocol of `answerer`; `statistics` gives their standard errors. `cell` is one number as it is
kept, and `union` lists all kinds for settings. Start with `base`, then `documents`. `platform.eval` decides which cells
there are, and scores them.
"""
