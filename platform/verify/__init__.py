"""Checking a vintage that somebody published, with nothing but the package, the vintage and its inputs.

`opened` finds what the user names, `finding` is what a check says, `checks` compares files, certificate and provenance
with one another, `recomputed` lays the rounds out again from the study and the manifests, `replay` trains some of them
again, and `verdict` puts all of it into one sentence. Nothing of the root that made the vintage is needed.
"""
