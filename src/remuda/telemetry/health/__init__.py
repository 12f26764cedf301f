"""Whether what the scheduler has booked is sound: the checks, their runs, the latest result.

The core is asked in slices, by a thread that waits for nobody else; readers get the result of the
last run and never cause one (chapter 97, section 6).
"""
