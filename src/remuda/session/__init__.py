"""The session client: a resource manager at the other end of one ordered stream.

Beside ``remuda.client``, which speaks the plain streams: here one object gets all callbacks, with
predicates, and a broken stream is resumed unnoticed.
"""
