"""Evaluation: checkpoints × tasks × periods, with or without a study.

`wanted` says which numbers a study wants, `cells` which are missing; `tasks/cells/` keeps them, by the weights, so
that no number is computed twice, and `prediction_store` single answers behind them. `fanout` shares the missing ones
among Ray actors, or scores them in this process. `checkpoint.load_checkpoint` turns a model folder into an `Answerer`
(`tasks/answerer.py`): `causal` or `seq2seq`. These rest on `likelihood`, `shared_context` and `encoder_decoder`
(log-probabilities), `decoding` (written text), `gradients`, `logits` (the last layer) and `tokenization`; number types
are in `loaded_model`, and `wanted.counts` tells a plan what is left. `folder` is `ticlm eval MODEL`, which needs no
study; `sample` is `ticlm generate`. To see how one number comes about, start with `cells.progress`.
"""
