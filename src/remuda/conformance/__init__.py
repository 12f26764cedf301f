"""A black-box suite for the scheduler interface: the rules for any server of si.v1.

It knows only the generated messages and the numbered rules, not the code of remuda, so it judges
every implementation in the same way. A failed check prints what it sent, what the rule expects, and
what came instead.
"""
