"""Publishing a chain of models: one model a period, with what shows how it was made.

The model of a period is a vintage: a folder with weights, a configuration, a tokenizer, a card and certificates. It is
published once, whole, and never changes; what stands above the vintages (`vintages.json`, the card) may.

`places` knows where vintages go: repositories of a hub, folders and buckets. Start at `places/place.py`.
"""
