"""What the files of a tokenizer say about its tokens, read as JSON: no library of tokenizers is loaded.

`token_bytes` tells the bytes of text that each token of a byte-level BPE stands for: what a loss in bits per byte is
counted by. `growth` is the record beside a tokenizer that continues another one: which of its tokens are new, and which
old tokens each of them is made of. `datasets.corpus.growth` writes that record, `platform.models.growth` reads it.

Start with `growth`.
"""
