"""The parts of a waiting ask's life: age, reservations, predicates, preemption, findings."""
