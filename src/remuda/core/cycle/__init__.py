"""Decides what to do next. Reads the state, returns a Decision and changes only caches.

The caches (first of a ranking, bounds of the node order) never change an answer, only its cost.

One cycle of ``Scheduler.step``, which repeats these lines until no partition has work or its limit
is reached. A line that returns a decision ends the search for one; line 13 comes next. The page
docs/explanation/the-core-in-15-minutes.md has the same lines.

 1. Run the timers that are due (``core/apply/timers``).
 2. Choose a partition that has work: after an allocation in one partition, the next partition is
    looked at first.
 3. If a node is ready for an ask that reserved it, or such an ask may look at other nodes, serve
    that ask first: go to line 7 with the first class queue of the *reserved pass*.
 4. Otherwise, if the RM refused asks and is due to be asked about them again, ask it (``Probe``).
 5. Otherwise, if a gang has a real ask that can replace a placeholder, try to replace it
    (``Swap``).
 6. Otherwise, if a queue or a node gained room that many class queues wait for, unblock those that
    are served next (``UnblockInTurn``). If none has to be unblocked, go from the root down to the
    leaf that is served next, by priority and then by share, and take its first class queue.
 7. Take the first ask of the class queue: the first application, then its first ask.
 8. If the application backs off, skip it (``BackedOff``). If it has not started and no further
    application may start, block its limit group (``ApplicationLimitReached``).
 9. If a gang begins and a queue above it has no room for the whole gang, block the class queue
    (``NoRoom``).
10. If the ask does not fit the limits of its user and group, block the limit group
    (``UserQuotaReached``). If it does not fit the maximum of the leaf or of a queue above it, block
    the class queue (``NoRoom``).
11. Look for the first node, in node order, that has room and that the RM's predicates accept
    (``Allocate``). If the RM has not answered yet, block the class queue until it does
    (``AwaitPredicates``, ``PostponePredicates``).
12. If there is no such node and the ask may reserve one, reserve the node that lacks least
    (``Reserve``). Otherwise block the class queue (``NoRoom``). Before line 10 or 12 blocks a class
    queue, look for victims if the ask may preempt (``Preempt``).
13. Carry the decision out (``core/apply/decisions``): change usage and pending, block or unblock
    waiting asks, emit effects.
14. Review the reservations that the change concerns: is their node ready, does the ask still fit
    its limits (``core/apply/asks/reservations.py``)?
15. Settle: give every leaf that changed, and the queues above it, its new place among its siblings
    (``core/pending/ordering.py``). Then run the timers that became due.
"""
