"""What commands show of a running scheduler.

``kinds`` is the table of what can be shown: where it is read, its columns, how it is sorted. A new
kind is a new entry there. The other modules know no kind: they read lists in pages, select and sort
what was read, and write it as a table or as data.
"""
