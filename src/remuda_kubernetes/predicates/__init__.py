"""kube-scheduler's filters: which nodes a pod may run on, and why the others refuse it.

The code is pure: it judges values, and knows neither a server nor a clock. ``cluster`` is the door.
It keeps what the filters need up to date with each change, so a question never scans other pods.
"""
