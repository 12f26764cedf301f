"""A look at what Remuda would decide in a cluster that another scheduler is in charge of.

``following`` runs the state machine of the shim, whose calls are answered in memory; ``truth`` says
when it hears where pods really are; ``ledger`` compares. Nothing here can write to the API server.
"""
