"""Models: from the settings of a study to a module, and from a module to a folder that others can load.

`settings` names a model: a preset, any transformers configuration, or a folder with weights. `build` makes its
configuration and its module, with random weights or only its shapes; `initialisation` draws them as OpenLM does.
`sharding` places a module on its device and shards it over the workers of a chain; `compiled` compiles it before, and
`memory` tells whether it fits. `folders` publishes weights in Hugging Face's format, with adapters and the objective
beside them, and loads such folders. `openlm` reads checkpoints of OpenLM, and `convert` makes folders of them. Training
and evaluation meet here: start with `folders.load`.
"""
