"""Learning rate, warm-up, weight decay and replay share, drawn together: for Optuna or random search.

The ranges are those that the tables of TiC-LM cover; this search itself is not published.
"""

from ray import tune

from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="joint",
    method="replay-half",
    domains={
        "schedule.max_rate": tune.loguniform(3e-5, 1e-3),
        "schedule.warmup_steps": tune.randint(10, 201),
        "optimizer.weight_decay": tune.loguniform(1e-4, 0.1),
        "replay.alpha": tune.uniform(0.1, 0.9),
    },
    says="peak rate, warm-up, weight decay and share of the new period, drawn together",
)
