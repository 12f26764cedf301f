"""Tokens that an issuer has signed (OpenID Connect, JWT): settings, keys, verification (EXT-31).

A scheduler that knows the public keys of an issuer needs no secret of the people who call. The
library that verifies signatures is optional, so only `keys` and `signed` import it, and they are
imported only if the file of identities names an issuer.
"""
