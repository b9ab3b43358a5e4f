"""Models that learn from people: a verifier, a relevance model and a reward model, each with an honest test.

In: labelled examples from a file, or a study's own labels. Out: a trained model in its own folder, its figures on
groups that it never saw beside baselines and people's own ceiling, a model card, and predictions.
"""
