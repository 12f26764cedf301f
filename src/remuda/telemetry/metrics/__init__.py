"""The metrics of a running scheduler, as Prometheus reads them (chapter 97 sections 1 to 4).

This package reads, names and prints measurements. Almost all are state or counts of the core,
queried when the metrics are read; no copy is kept in between.
"""
