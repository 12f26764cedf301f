"""Why an ask waits, what would help, what would happen and when: questions and their answers.

Both edges ask them here. So the limits, the turns of callers, the scopes of readers and the facts
of an answer are the same over HTTP and gRPC; each edge only reads its requests and packs answers.
"""
