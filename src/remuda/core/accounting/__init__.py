"""The only place where usage changes, and with it the orders that rest on usage.

``usage`` adds and subtracts along the queue path, ``resize`` for what runs already; ``accounts``
does so where users and groups are limited; ``lanes`` keeps asks in their lanes and strands,
``waiting`` sets these aside and wakes them; ``standing`` keeps queues and applications in order,
``renewal`` puts them in order after settings changed. Nothing here chooses.
"""
