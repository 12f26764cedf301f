"""From Kubernetes objects to requests of the scheduler interface, as pure functions of values.

Nothing here waits, reads a clock or remembers a cluster. What an author of a manifest got wrong is
returned as a finding beside the result, or raised as an ObjectError if there can be no result; both
are texts for the person who reads the events of a pod.
"""
