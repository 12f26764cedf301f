"""The configurations in force, and how they are replaced while everything runs.

This package has the stored documents, the files and texts they come from, changes of the
configurations of registered resource managers, and the effect of a change on the whole process. The
core decides its effect on queues.
"""
