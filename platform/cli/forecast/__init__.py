"""What the console shows of forecasts: results of methods that are not measured, by a law fitted to others.

`command.py` is `ticlm predict`: it leaves each finished method out in turn and prints how far the forecast of it from
the others is off. `plan_table.py` makes the table that `ticlm plan` adds for methods that are not finished. Both print
what the package `platform/forecast` finds; start with its `law.py`.
"""
