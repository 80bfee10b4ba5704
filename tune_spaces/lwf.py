"""The weights of LwF at temperature 2 in TiC-LM, appendix C.2.

The paper gives the range, 0.1 to 10, and its choice, 0.3.
"""

from ticlm.tune_spaces.space import Space

SPACE = Space(
    name="lwf",
    method="lwf",
    points=tuple(
        {"penalties.0.weight": weight, "penalties.0.temperature": 2.0} for weight in (0.1, 0.3, 1.0, 3.0, 10.0)
    ),
    says="weights of LwF from 0.1 to 10 at temperature 2 (TiC-LM, appendix C.2)",
)
