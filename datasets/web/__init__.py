"""Web archives (WARC, WET) and HTTP: from the bytes of a crawl to pages with url, time and text.

`crawl` is the source of documents that a recipe names. It reads `warc` (pages of an archive), which uses `warc_records`
(records and damage) and `response` (HTTP). Sound archives are read by `fast_warc`; any other file is cut into its
compressed `members`, over `compressed_bytes`. `hosts` and `news_hosts` say which site a page belongs to.

Start with `crawl`, then `warc`.
"""
