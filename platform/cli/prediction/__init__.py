"""What the console shows of predicted results.

`command.py` is `ticlm predict`: it leaves each finished method out in turn and prints how far the others' prediction of
it is off. `plan_table.py` is the table that `ticlm plan` adds for methods that are not finished. Both print what the
package `platform/analysis/prediction` finds; start with its `law.py`.
"""
