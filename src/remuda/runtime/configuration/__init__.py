"""Which configuration is in force for whom, and how it is replaced while everything runs.

Here belong the stored documents and the files and texts they come from, changes of the
configurations of registered resource managers, and what a change means for the whole process.
What it means for queues is decided in the core.
"""
