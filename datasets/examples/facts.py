"""Keys of `Example.about` for the ids of a fact's subject, relation and object, by which sets ask for the same fact.

A builder that knows the ids writes them under these keys. Two sets ask for the same fact if subject and relation are
the same: the ids where both have them, else the labels. Objects may differ, as they change with time.
"""

from __future__ import annotations

SUBJECT_ID, RELATION_ID, OBJECT_ID = "subject-id", "relation-id", "object-id"
"""Ids in a knowledge base, such as Q42, P69 and Q691283 of Wikidata."""
SUBJECT, RELATION = "subject", "relation"
"""Labels."""
