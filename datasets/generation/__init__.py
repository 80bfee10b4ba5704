"""Questions that a chat model writes and judges, from passages of a wiki that changed or did not (EvolvingQA).

`passages` is what a question is made from, with its entities. `writing` asks a model for a question (`prompts.yaml`,
read by `prompts`), `replies` reads what it says, `judging` asks `judges` with several seeds and orders of the options,
and `agreement` says how far they agree.
`answers` compares answers by rules, and `filters` takes all steps in their order and counts what each leaves out.
`rules` makes questions without a model, and `stand_in` answers the prompts by the same rules.

Start with `filters`. The builder is `ticlm.datasets.evalsets.evolving_questions`.
"""
