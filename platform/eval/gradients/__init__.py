"""Gradients of single examples: how far each would move a model (EvolvingQA, Figures 5 and 10).

`samples` computes the loss of one example and the gradients of all parameters, and leaves the weights as they are;
`norms` adds up the squares of gradients, also of those that are spread over processes. The answerers (`eval/causal.py`,
`eval/seq2seq.py`) say which tokens a model reads and predicts of an example, and `tasks/gradients.py` is the task that
asks for it. Start with `samples.gradient_norm`.
"""
