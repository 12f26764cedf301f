"""The admission controller: what becomes of objects before the API server stores them.

``decide`` and what it uses are pure functions: a request, the settings and what is known of the
cluster give an answer. The other modules are edges: TLS, certificates, registration, metrics.
"""
