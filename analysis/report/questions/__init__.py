"""What several runs over the same questions say together: ranks among published scores, majorities, and which questions
a model answers differently from one repeat to the next.
"""
