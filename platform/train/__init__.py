"""Training of one chain of rounds, on one worker or many; bit-identical after any restart. torch, but no Ray Train.

`order` says which rows make up a step, a pure function; `loader` reads them; `step` takes one optimizer step, `fused`
computes its loss if the model is compiled, and `device` has what a GPU does otherwise; `state` holds a running round;
`checkpoint` writes and restores it midway, from copies that `staging` makes; `publish` writes its model and record at
the end, and `mid_round` before it. `trainer` puts them together; `tracking` sends losses to TensorBoard or Weights &
Biases.

Start with `trainer.run_chain`.
"""
