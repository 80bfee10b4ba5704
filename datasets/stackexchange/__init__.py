"""StackExchange sites from their dumps: questions with answers, as they stood in each month.

`by_month` is the interface: QuestionsByMonth runs all stages and gives examples by month; start there. Behind it,
`dumps` reads rows of the tables, `posts` joins rows into posts with their history, `threads` runs the three stages on
buckets, and `questions` holds the rules that turn a question and its answers into an example.
"""
