"""Readers of trace files: one module per format, each from rows to `sim.workload` records.

A reader knows the columns and units of its format and nothing of scheduling. Opening files,
plain or compressed, and telling where a row is wrong is common to all and lives in `rows`.
"""
