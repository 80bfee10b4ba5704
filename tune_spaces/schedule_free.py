"""The nine pairs of learning rate and weight decay of Schedule-Free AdamW in TiC-LM, Table 6, in its order."""

from ticlm.tune_spaces.space import Space

PAIRS = (
    *((rate, 0.033) for rate in (1e-3, 5e-4, 3e-4, 5e-5)),
    *((1e-4, decay) for decay in (0.067, 0.033, 0.010, 0.005, 0.0001)),
)

SPACE = Space(
    name="schedule_free",
    method="schedule-free",
    points=tuple({"schedule.max_rate": rate, "optimizer.weight_decay": decay} for rate, decay in PAIRS),
    says="learning rates and weight decays of Schedule-Free AdamW (TiC-LM, Table 6)",
)
