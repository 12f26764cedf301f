"""The what-if laboratory: many simulations of one question, compared.

This package reads a study file, plays its runs on this machine's cores, or on a Dask cluster, and
compares their figures.
The simulator plays each run, and the core makes every decision.
"""
