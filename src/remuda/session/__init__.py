"""The session client: a resource manager at the other end of one ordered stream.

Beside ``remuda.client``, which speaks the plain streams: here one object is called back with
everything, predicates included, and a stream that breaks is resumed without anybody noticing.
"""
