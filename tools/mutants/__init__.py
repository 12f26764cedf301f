"""Mutation testing: small faults are put into the code, and the tests have to notice them.

A fault that no test notices shows an assertion that is missing, or code that has no effect.
"""
