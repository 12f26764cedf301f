"""From Kubernetes objects to requests of the scheduler interface, as pure functions of values.

Nothing here waits, reads a clock or remembers a cluster. A fault in a manifest is returned as
a finding beside the result, or raised as an ObjectError if there can be no result. Both are texts
for the person who reads the events of a pod.
"""
