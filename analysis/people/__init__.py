"""The people of a corpus: which of its users are studied, what is concluded about them, and a sample spread over them.

In: conversations with their users, models' verdicts about them, attributes extracted here or elsewhere. Out: the
funnel as data, merged attributes with evidence, diversity, a sample, and items for annotators. The conversations
themselves and personas are in `corpora`.
"""
