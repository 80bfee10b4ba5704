"""Forecasts of the cells of runs that have not been trained, from runs that have.

`features.py` reads from a plan what is known of a run before it is trained: for each round the shares of its tokens by
period, and its learning rate. `law.py` is the loss as a function of these: equations, fit and prediction. `finished.py`
puts both together for the methods of studies, `published.py` for evaluations published with TiC-LM, `leave_one_out.py`
measures the error and the intervals of the law, and of the simpler guesses that it must beat, and `expected.py`
predicts what a plan has not finished. Start with `law.py`.
"""
