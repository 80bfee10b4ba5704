"""Remote filesystems: which of their errors pass, and how long ticlm waits for that.

`passing` says of an error whether the same request may succeed later, and puts it on one line; whoever asks a server
uses it. `patient` wraps a filesystem of fsspec so that its calls are repeated until they succeed or patience ends.
`platform.core.store` reads and writes every remote root through it.
"""
