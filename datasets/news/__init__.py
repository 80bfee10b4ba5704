"""Dated news, and files that were masked before: sources of documents for CKL's and EvolvingQA's corpora.

`articles` reads titled articles as JSON: the articles of news-please, and the articles of WikiExtractor with one date
for all. A title becomes the first line of its text. `masked_csv` reads the CSV files released with CKL, restores their
texts, and marks their spans for the tagger `masked`.

Start with `articles`.
"""
