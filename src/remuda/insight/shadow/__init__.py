"""A second core that gets the inputs of another one, under another configuration.

``pairs`` keeps what became of each ask on both sides, ``translation`` turns an input of the primary
into one of the shadow, ``verdicts`` answers for resource managers, ``differences`` compares, and
``twin`` feeds the core. All of it is pure. Its rules are in chapter 70 section 11.
"""
