"""Looks up the groups of users that come without any (rules: chapter 30 section 2).

Here belong the resolvers, their settings, the cache before them and the line in which requests
wait for an answer. The core decides what the answer means for an application.
"""
