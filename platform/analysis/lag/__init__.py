"""Models and evaluations in time.

- `calendar.py`: how far periods lie apart, which evaluation is nearest to a checkpoint (TiC-LM, Figure 4), and units.
- `peaks.py`: how long after an evaluated period the model that is best on it was trained (TiC-LM, Figure 5).
- `ages.py`: how methods do by the age of their models.
"""
