"""What a study's file may say in fewer words, and the values that these words stand for.

`words` needs the file alone: methods by their names in the catalogue, settings that all methods share, and `first` and
`last` for the ends of the study. `calendar` also looks at the recipe or the corpus, for `periods: corpus`. Both are
replaced before a Study is made. So a Study is a plain value, and its ids are those of the same study with everything
written out.

`models` finds the model of a packaged study that another one starts from, `model.path: models/STUDY`. Only a root has
it, so a Study keeps the word, and `plan.make` puts the model's folder in its place.
"""
