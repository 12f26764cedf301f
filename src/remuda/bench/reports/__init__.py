"""The tables in which people read what was measured."""
