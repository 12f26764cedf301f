"""The only place where usage changes, and with it the orders that rest on usage.

``usage`` adds and subtracts along the queue path; ``lanes`` keeps asks in their lanes and parks
and wakes them; ``standing`` keeps queues and applications in order. Nothing here chooses.
"""
