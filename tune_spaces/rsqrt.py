"""The peak learning rates and cooldowns of the inverse square root schedule in TiC-LM, appendix C.2.

The paper gives the ranges (rates as for cyclic cosine, 50 to 400 steps) and its choice, 1e-4 and 400.
"""

from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="rsqrt",
    method="cyclic-rsqrt",
    points=tuple(
        {"schedule.max_rate": rate, "schedule.cooldown_steps": steps}
        for rate in (1e-3, 3e-4, 1e-4, 5e-5, 3e-5)
        for steps in (50, 100, 200, 400)
    ),
    says="peak learning rates and cooldowns of cyclic rsqrt (TiC-LM, appendix C.2)",
)
