"""Reports that users attach to an issue: what a snapshot or a journal has, and what is wrong in it.

A report is built from figures and names; ``names`` decides how names appear in it.
"""
