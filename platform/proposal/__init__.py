"""A recipe and a study for files that nobody has described yet (`ticlm init`).

`inspection` looks at the files, of large ones at `parts`: which columns there are (`columns`), how dates are written
(`date_formats`), and how much text each day has. `periods` chooses the calendar, `sizing` the model of the `ladder` and
the budgets by the minutes that the user gives and the `speed` of this machine, and `text` writes both files with the
reason of each choice beside it. `proposal` does one after the other.
"""
