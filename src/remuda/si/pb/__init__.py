"""Python modules generated from proto/si/v1/si.proto by tools/gen_si.py; never edited."""
