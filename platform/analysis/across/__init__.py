"""Methods of two studies, compared where both measured the same rows.

- `equal_rows.py`: which cells of a task two studies measured alike, or why there are none.
- `differences.py`: differences of their methods over these cells, with paired bootstrap intervals.

Raw values are compared: regrets relative to two references say nothing of each other.
"""
