"""What a report says of the age of models: a row and a sentence each, a figure over the months, and the evidence.

`verdict` puts an estimate into words, `figure` draws the share of new values that a model prefers by the time of the
change, with the estimated and the claimed month, and `part` holds the sections and the files of the page: a table with
a row for each model, and the changes that it knows and does not know, by date.
"""
