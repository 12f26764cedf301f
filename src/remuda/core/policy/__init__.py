"""Pure functions that say in which order things are served and where applications go.

Nothing here changes or remembers anything; whoever changes usage asks these for the new keys.
"""
