"""The paste page: copy our prompt, ask the chatbot, paste the answer back.

In: drafts and submissions of participants. Out: responses as revisions that never change, the evidence of how each came
to be, flags of the checks, what people say of what was read, and personal details marked before anything is stored.
"""
