"""Remote filesystems and Ray: which errors pass, how long ticlm waits, what of a URL may be shown, how Ray starts.

`passing` says of an error whether the same request may succeed later, and puts it on one line; whoever asks a server
uses it. `patient` wraps a filesystem of fsspec so that its calls are repeated until they succeed or patience ends.
`core.store` reads and writes every remote root through it. `credentials` leaves passwords and signatures out
of what is shown, recorded and hashed of a URL. `ray_start` starts or joins the Ray of this machine.
"""
