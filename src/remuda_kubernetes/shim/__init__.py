"""The state machine of the shim: what it knows, what it decides, without a door to the world.

``Shim`` is the door: changes of objects, answers of the scheduler, results of calls and moments of
time go in, one after the other; effects come out: requests to the scheduler and calls to the API
server. Nothing here waits, so one thread is the only writer.
"""
