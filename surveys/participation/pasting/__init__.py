"""The paste page: copy our prompt, ask the chatbot, paste the answer back.

In: drafts and submissions of participants. Out: responses as revisions that never change, evidence of how each was
entered, the checks' flags, people's replies to the readings, and personal details marked before anything is stored.
"""
