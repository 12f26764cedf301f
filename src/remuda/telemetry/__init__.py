"""What is told about a running scheduler: a fold over its effects and answers to questions.

Nothing here is needed to schedule: the core and the loop know nothing of this package, so without
it every decision would be the same (chapters 90, 95 and 97).
"""
