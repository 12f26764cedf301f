"""Chooses victims, on a trial that changes nothing (rules: chapter 60).

``apply`` carries the choice out: it reserves the node and sends release requests for the victims.
``quota_victims`` chooses the victims of lowered maxima; those have no ask and no node.
"""
