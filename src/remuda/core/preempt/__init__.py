"""Chooses victims, on a trial that changes nothing (rules: chapter 60).

What is chosen here ``apply`` carries out: it reserves the node and orders the victims out.
"""
