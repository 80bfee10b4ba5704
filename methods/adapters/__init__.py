"""Adapters: parameters that are added to a model, while some or all of its own weights are frozen.

`lora` adds low-rank matrices to the projections of attention, `k_adapter` blocks beside the model, `modular` a second,
smaller encoder. Each is a setting that loads without torch; what it adds stands in the file beside it that imports
torch (`low_rank`, `side_blocks`, `second_encoder`). `places` finds where a model of transformers has its blocks, its
last norm and its projections. `peft_format` writes LoRA as the library peft reads it.

Start with `lora`. Which of the model's own weights are trained beside them is a method's `freeze` (`methods/freezing`).
"""
