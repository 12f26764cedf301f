"""Checks the consistency of the scheduler's accounting: the checks, their runs, the last result.

A separate thread asks the core in slices; readers get the result of the last run and never cause
one (chapter 97, section 6).
"""
