"""The only place where usage changes.

``usage`` adds and subtracts along the queue path. ``resize`` changes running allocations, and
``replacement`` puts real allocations in the place of placeholders. ``gangs`` counts placeholders
and members of task groups, ``victims`` the allocations that preemption is about to end, and
``history`` the allocations that ended. ``renewal`` recomputes orders after settings changed.
Nothing here makes a choice.
"""
