"""The journal: a directory with the inputs of a served scheduler, in segments, and its states.

``layout`` names the files, ``writer`` is what the core thread does, ``disk`` writes on a thread of
its own, ``states`` writes whole states in copies of the process, ``repeating`` reads all of it.
See ADR 6.
"""
