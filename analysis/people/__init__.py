"""The people of a corpus: who of its users is studied, what is concluded about them, and a sample spread over them.

In: conversations with their users, verdicts of models about them, attributes extracted here or elsewhere. Out: the
funnel as data, merged attributes with evidence, diversity, a sample, and items for annotators. The conversations
themselves and personas are in `corpora`.
"""
