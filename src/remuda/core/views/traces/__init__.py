"""Everything that decides when one ask is placed: its gates, its place in the order, its nodes."""
