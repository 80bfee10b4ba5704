"""Wikis from MediaWiki's XML dumps: what changed from one snapshot to the next.

`diffs` is the interface: `comparisons` yields each step between two snapshots, and `diffed` of `changed_texts` stages
the texts that changed in each by title; start there. Behind it, `dumps` finds the files and the snapshots they belong
to, `mediawiki` reads pages from XML, `wikitext` turns wikitext into paragraphs (`templates` those of its table into
text), `plain` reads articles that are plain text already, and `staging` keeps pages in buckets by id between these
steps. `revised` says what became of one article, `unchanged` follows those that stay the same, and `articles` reads
whole snapshots as the documents of a corpus.
"""
