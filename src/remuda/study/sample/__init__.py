"""A small study of the bundled trace, to begin with and for tests."""
