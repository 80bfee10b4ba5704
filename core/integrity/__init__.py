"""Records, which say that work is done, and whether files are those that records name.

`records` has the attempts at a piece of work and the record that is written last. `files.verify` looks at everything
that a record names, as `ticlm check` and a restart from a checkpoint do.
`files.check_once` guards what is about to be read: shards, the weights of a round; each file is hashed once per
process. `files.read_checked` reads a small one, such as examples, and hashes what it has read.
"""
