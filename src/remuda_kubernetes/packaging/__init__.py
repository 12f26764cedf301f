"""What an installation in a cluster consists of: its settings, and the objects made from them."""
