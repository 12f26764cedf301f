"""The queue of waiting asks: what is pending, where it waits, and what is served next.

``asks`` adds and removes asks, ``head`` says which is served next, ``blocking`` blocks what cannot
be served, and ``changes`` says what each event unblocks. ``marks`` notes what must be recomputed,
and ``ordering`` recomputes it once before the next decision. ``limit_sets`` finds the limits of
users and groups that concern an application. ``swaps`` lists the applications that may replace
placeholders. ``gang_lacks`` counts what started gangs still need. Only this package uses
``classes`` and ``admission``.
"""
