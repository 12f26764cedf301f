"""The slices of the self-audit, one module for each kind of object (chapter 97, HLT-21)."""
