"""What updates of a model gained and lost beside the base, the first checkpoint that is never updated.

`losses` compares checkpoints with the base on the same rows: on new text, on text that the base may have read, and on
other text such as samples of the base itself. `facts` compares which values of dated facts they prefer, and follows the
edge of their knowledge from checkpoint to checkpoint. No text that the base was trained on is needed for either.
"""
