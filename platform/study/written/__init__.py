"""What a study's file may say in fewer words, and the values that these words stand for.

`words` needs the file alone: methods by their names in the catalogue, settings that all methods share, and `first` and
`last` for the ends of the study. `calendar` also looks at the recipe or the corpus, for `periods: corpus`, and
`models` at what a root has of the study whose model is the start.

Everything is replaced before a Study is made. So a Study is a plain value, and its ids are those of the same study with
everything written out.
"""
