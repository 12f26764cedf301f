"""Where each fault occurs that the scheduler has to survive, and what checks each promise.

Faults and promises are numbered as in the threat and failure model of the project (F and I). A
fault occurs in the worlds of ``test_faults`` under the names given, or in the tests given, or both.
A promise is checked by the tests given; the names say what of the worlds it was checked on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Covered:
    """``what`` in a few words; ``seen``: counts of the worlds; ``tests``: FILE::FUNCTION.

    Files are named from tests/ on, without their ending.
    """

    what: str
    seen: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


_FILTH: Final = ("absurd request",)
_BOUNDS: Final = "unit/config/test_bounds::"
_CHAOS: Final = "e2e/test_chaos::"
_ATTACKS: Final = "e2e/test_grpc_attacks::"
_HTTP: Final = "unit/edges/rest/test_server::"
_JOURNAL: Final = "unit/runtime/test_journal::"
_LEASE: Final = "e2e/test_lease::"
_FUZZ: Final = (
    "architecture/test_fuzz::test_whatever_bytes_arrive_only_documented_refusals_come_of_them"
)
_SMALL: Final = ("simulation/test_small_models::test_both_sides_agree_after_every_history",)

FAULTS: Final[dict[str, Covered]] = {
    "F1": Covered(
        "the core dies",
        ("core restarted",),
        ("e2e/test_recovery::test_a_killed_scheduler_is_as_before_after_the_replay",),
    ),
    "F2": Covered(
        "the core stands still",
        ("machine stood still",),
        ("e2e/test_time::test_what_arrived_while_the_process_stood_still_comes_before_timers",),
    ),
    "F3": Covered(
        "an RM dies",
        ("RM restarted", "RM restarted during its replay", "RM given up"),
        (
            (
                "e2e/test_recovery::"
                "test_an_rm_that_was_killed_finds_everything_as_before_after_its_replay"
            ),
        ),
    ),
    "F4": Covered(
        "an RM reads nothing",
        ("RM too slow",),
        (
            "unit/edges/test_outbound::test_beyond_the_limit_everything_is_dropped_for_good",
            "e2e/test_grpc_streams::test_an_rm_that_takes_no_responses_has_to_register_again",
        ),
    ),
    "F5": Covered(
        "an RM is slow",
        ("slow message",),
        ("unit/edges/test_outbound::test_a_stream_that_ends_or_is_slow_lets_the_others_pass",),
    ),
    "F6": Covered(
        "a connection is half open",
        (),
        (
            "e2e/test_half_open::test_an_rm_whose_streams_fell_silent_is_paused",
            "e2e/test_half_open::test_an_rm_whose_session_fell_silent_is_paused",
        ),
    ),
    "F7": Covered(
        "a message is cut",
        (),
        (f"{_ATTACKS}test_few_messages_of_unary_calls_of_one_address_are_read_at_a_time", _FUZZ),
    ),
    "F8": Covered("a message comes twice", ("doubled ask", "doubled release", "echoed ask")),
    "F9": Covered("streams overtake one another", (), _SMALL),
    "F10": Covered(
        "an RM registers twice",
        ("registered again",),
        ("e2e/test_grpc_streams::test_registering_again_ends_the_streams_and_drops_what_waited",),
    ),
    "F11": Covered("storm of registrations", ("storm of registrations",)),
    "F12": Covered(
        "malformed bytes",
        (),
        (
            "e2e/test_grpc_streams::test_bytes_that_are_no_message_are_an_invalid_argument",
            _FUZZ,
        ),
    ),
    "F13": Covered(
        "absurd values",
        _FILTH,
        (
            "unit/core/test_unreadable::test_what_cannot_be_read_is_refused_and_its_neighbours_count",
        ),
    ),
    "F14": Covered(
        "a message bomb",
        (),
        (
            f"{_ATTACKS}test_compressed_messages_are_refused_before_they_are_unpacked",
            "e2e/test_grpc_streams::test_too_many_elements_in_one_message_are_resource_exhausted",
        ),
    ),
    "F15": Covered("a flood of asks", ("flood of asks", "ask beyond a limit")),
    "F16": Covered("a flood of nodes", ("flood of nodes", "node added again")),
    "F17": Covered("a node is lost", ("node lost", "node lost under both sides of a replacement")),
    "F18": Covered("a node shrinks", ("node resized",)),
    "F19": Covered("allocations of unknown things", ("existing allocation refused", *_FILTH)),
    "F20": Covered("a release crosses an order", ("order for something that ended",)),
    "F21": Covered("a reserved ask goes", ("preemption lost the ask is gone",)),
    "F22": Covered(
        "the wall clock jumps",
        ("wall clock set",),
        ("e2e/test_time::test_a_wall_clock_that_is_set_moves_no_timer_and_is_told",),
    ),
    "F23": Covered(
        "the disk is full",
        (),
        (
            f"{_JOURNAL}test_a_full_device_is_said_before_anything_starts",
            (
                "e2e/test_recording::"
                "test_a_recording_on_a_full_disk_makes_the_scheduler_unhealthy_and_it_goes_on"
            ),
        ),
    ),
    "F24": Covered(
        "a torn file",
        (),
        (
            f"{_JOURNAL}test_every_cut_through_the_file_leaves_something_that_can_be_repeated",
            f"{_JOURNAL}test_after_a_crash_the_next_segment_follows_what_was_cut_off",
        ),
    ),
    "F25": Covered("no memory", ("ordered MemoryError",)),
    "F26": Covered(
        "a starved processor",
        (),
        (
            (
                "e2e/test_starved_processor::"
                "test_with_a_tenth_of_a_processor_all_is_answered_and_no_stream_ends"
            ),
        ),
    ),
    "F27": Covered(
        "no file descriptor",
        (),
        ("e2e/test_exhausted_descriptors::test_without_file_descriptors_open_connections_go_on",),
    ),
    "F28": Covered(
        "a huge configuration",
        (),
        (f"{_BOUNDS}test_a_large_text_gets_its_verdict_within_a_second_and_200_megabytes",),
    ),
    "F29": Covered(
        "a YAML bomb",
        (),
        (f"{_BOUNDS}test_a_hostile_text_is_refused_within_a_second_and_200_megabytes",),
    ),
    "F30": Covered("a contradictory configuration", ("reload refused",)),
    "F31": Covered("a reload in the middle", ("reload during a replay", "reload: queue removed")),
    "F32": Covered(
        "slow HTTP requests",
        (),
        (
            f"{_HTTP}test_bodies_that_do_not_come_keep_nobody_waiting",
            f"{_HTTP}test_a_header_that_does_not_come_ends_the_connection",
            f"{_HTTP}test_a_huge_header_is_refused",
        ),
    ),
    "F33": Covered(
        "abuse of HTTP/2",
        (),
        (
            f"{_ATTACKS}test_floods_of_frames_that_belong_to_no_call_cost_little",
            f"{_ATTACKS}test_headers_that_stand_for_much_more_take_bounded_memory",
            f"{_ATTACKS}test_who_behaves_is_answered_within_100_ms_during_an_attack",
        ),
    ),
    "F34": Covered(
        "stalled event streams",
        (),
        (
            (
                "unit/telemetry/events/test_streams::"
                "test_a_listener_that_does_not_read_is_dropped_after_two_buffers"
            ),
            "unit/telemetry/events/test_streams::test_there_are_a_hundred_streams_in_all",
        ),
    ),
    "F35": Covered(
        "REST clients ask for all",
        (),
        (
            "unit/edges/rest/test_large_answers::test_a_client_that_takes_nothing_is_given_up",
            (
                "unit/edges/rest/test_large_answers::"
                "test_text_is_made_on_threads_that_neither_serve_nor_schedule"
            ),
        ),
    ),
    "F36": Covered(
        "predicates fail",
        (),
        ("unit/edges/test_predicates::test_an_error_refuses_all_nodes_it_was_asked_about",),
    ),
    "F37": Covered(
        "a user lookup hangs",
        (),
        ("e2e/test_ldap::test_a_slow_server_holds_up_neither_scheduling_nor_other_managers",),
    ),
    "F38": Covered(
        "SIGTERM", (), ("e2e/test_serve::test_an_empty_scheduler_serves_until_a_signal",)
    ),
    "F39": Covered(
        "any exception in the core",
        ("dropped after a fault of the core", "ordered KeyError", "fault of the core on its own"),
        (
            (
                "property/test_contained_faults::"
                "test_the_others_hear_exactly_what_they_hear_without_it"
            ),
            (
                "e2e/test_contained_faults::"
                "test_a_scheduler_that_fails_again_and_again_places_everything_in_the_end"
            ),
        ),
    ),
    "F40": Covered(
        "the builds disagree",
        (),
        ("property/test_determinism::test_the_digest_does_not_depend_on_the_process",),
    ),
    "F41": Covered(
        "wrong certificates",
        (),
        ("e2e/test_grpc_security::test_with_tls_a_client_knows_whom_it_talks_to",),
    ),
    "F42": Covered(
        "wrong tokens",
        (),
        ("e2e/test_grpc_security::test_a_token_lets_its_resource_managers_in_and_no_other",),
    ),
    "F43": Covered(
        "texts that forge a log or metrics",
        (),
        (
            "e2e/test_hostile_texts::test_no_text_of_others_makes_a_line_or_a_series_of_its_own",
            (
                "unit/telemetry/metrics/test_queue_families::"
                "test_of_many_queues_the_first_are_shown_and_the_other_leaves_are_one"
            ),
            (
                "unit/telemetry/metrics/test_queue_families::"
                "test_usage_by_user_is_a_choice_and_bounded"
            ),
        ),
    ),
    "F44": Covered("tricks with paths", _FILTH, ("unit/edges/rest/test_paths::test_corrected",)),
    "F45": Covered(
        "two cores with one RM",
        (),
        (
            f"{_LEASE}test_a_process_that_was_stopped_sends_nothing_when_it_goes_on",
            "e2e/test_fenced::test_nothing_leaves_on_an_open_stream_after_the_end",
            "e2e/test_fenced::test_a_call_that_knows_a_later_scheduler_is_refused",
        ),
    ),
}

_FULL: Final = (
    "property/test_corruption::test_every_corruption_is_noticed",
    "simulation/test_audit::test_a_corruption_where_something_happened_is_found_at_once",
)
_JUDGED: Final = ("simulation/test_audit::test_a_placement_that_breaks_a_law_is_found",)
_WORLDS: Final = (
    "simulation/test_faults::test_both_sides_agree_when_the_faults_are_over",
    "simulation/test_faults_found::test_a_planted_fault_is_found",
)
_IDLE: Final = (
    "simulation/test_faults_found::"
    "test_room_that_is_left_idle_is_found_before_everything_comes_to_rest"
)
_ALIKE: Final = "property/test_agreement::test_workloads_are_decided_as_the_reference_decides_them"

INVARIANTS: Final[dict[str, Covered]] = {
    "I1": Covered("a node's amounts add up", (), _FULL),
    "I2": Covered("no node is overfilled", ("placement judged",), _JUDGED),
    "I3": Covered("a partition's amounts add up", (), _FULL),
    "I4": Covered("a queue's amounts add up", (), _FULL),
    "I5": Covered("an application's amounts add up", (), _FULL),
    "I6": Covered("no queue exceeds its maximum", ("placement judged",), _JUDGED),
    "I7": Covered("a user's amounts add up", (), _FULL),
    "I8": Covered(
        "no user or group exceeds a limit",
        ("placement under a limit of its user", "placement under a limit of its group"),
        _JUDGED,
    ),
    "I9": Covered(
        "no more applications start than may",
        (
            "start within a number of applications",
            "start within a number of a user's applications",
        ),
        _JUDGED,
    ),
    "I10": Covered(
        "amounts are integers",
        (),
        (
            "property/test_resources::test_every_sum_and_difference_stays_in_64_bits",
            "property/test_resources::test_every_product_stays_in_64_bits",
        ),
    ),
    "I11": Covered("reservations are no usage", (), _FULL),
    "I12": Covered("victims add up", (), _FULL),
    "I13": Covered(
        "metrics are those of the model",
        (),
        (
            (
                "unit/telemetry/metrics/test_invariants::"
                "test_counters_agree_with_what_there_is_over_restarts"
            ),
        ),
    ),
    "I14": Covered("an allocation is in one place", (), _FULL),
    "I15": Covered("an application is in one leaf", (), _FULL),
    "I16": Covered("the order of nodes is right", ("flood of nodes",), _FULL),
    "I17": Covered("the order of queues is right", (), _FULL),
    "I18": Covered("what waits cannot be placed", (), (*_FULL, _IDLE)),
    "I19": Covered("identities are used once", ("placed",), _WORLDS),
    "I20": Covered("nothing grows for ever", ("leftovers counted",), _WORLDS),
    "I21": Covered("each ask ends in one way", ("placed",), (*_WORLDS, *_SMALL)),
    "I22": Covered("an allocation is told once", ("doubled new",), _WORLDS),
    "I23": Covered("a release counts once", ("release of something unknown",), _WORLDS),
    "I24": Covered(
        "effects are those of some order",
        (),
        (
            (
                "e2e/test_recording::"
                "test_what_comes_on_three_streams_at_a_time_takes_effect_in_one_order"
            ),
            *_SMALL,
        ),
    ),
    "I25": Covered("an application is answered once", ("doubled application",), _WORLDS),
    "I26": Covered("a registration begins anew", ("registered again",), _WORLDS),
    "I27": Covered(
        "a slow RM delays itself only",
        (),
        (
            "unit/edges/test_outbound::test_a_stream_that_ends_or_is_slow_lets_the_others_pass",
            "unit/runtime/test_inbox::test_who_sends_little_does_not_wait_for_who_sends_much",
        ),
    ),
    "I28": Covered(
        "events have an order",
        (),
        (
            (
                "unit/telemetry/events/test_streams::"
                "test_each_record_comes_once_while_a_producer_runs_at_full_speed"
            ),
            (
                "unit/telemetry/events/test_streams::"
                "test_a_stream_resumes_at_an_id_or_tells_what_is_missing"
            ),
        ),
    ),
    "I29": Covered(
        "answers are consistent",
        (),
        ("property/test_self_audit::test_no_round_finds_a_fault_in_any_history",),
    ),
    "I30": Covered("the node takes what is placed", ("placement judged",), _JUDGED),
    "I31": Covered(
        "a required node",
        ("placement on a required node",),
        ("simulation/test_audit::test_a_required_node_is_the_only_one",),
    ),
    "I32": Covered(
        "gangs start whole",
        ("real ask of a gang placed",),
        ("simulation/test_audit::test_a_real_ask_before_the_gang_is_complete_is_found",),
    ),
    "I33": Covered(
        "placeholders are counted",
        ("placeholder counted", "task group looked at"),
        (*_JUDGED, *_WORLDS),
    ),
    "I34": Covered(
        "victims are chosen by the laws",
        (),
        ("property/test_corrupted_choices::test_a_choice_that_breaks_a_law_is_noticed",),
    ),
    "I35": Covered("a lost preemption ends", ("preemption lost the ask is gone",), _WORLDS),
    "I36": Covered(
        "the order is that of the slow model",
        (),
        (
            _ALIKE,
            (
                "property/test_preemption_agreement::"
                "test_1000_clusters_are_preempted_as_the_model_preempts_them"
            ),
            "property/test_planted_faults::test_a_planted_fault_is_found",
        ),
    ),
    "I37": Covered("what fits is placed", ("ask looked at for room",), (*_WORLDS, _IDLE)),
    "I38": Covered("no reservation outlives its ask", (), _FULL),
    "I39": Covered(
        "what is empty goes",
        (),
        (
            "unit/core/test_draining::test_empty_draining_queues_are_removed_children_first",
            "unit/core/test_draining::test_a_draining_parent_waits_for_its_dynamic_child",
        ),
    ),
    "I40": Covered("no room is left idle", ("ask looked at for room",), (_IDLE,)),
    "I41": Covered(
        "the same inputs, the same effects",
        (),
        (
            "property/test_determinism::test_replaying_recorded_inputs_gives_the_same_digest",
            "property/test_determinism::test_the_digest_does_not_depend_on_the_process",
        ),
    ),
    "I42": Covered(
        "a refused configuration changes nothing",
        ("reload refused",),
        ("property/test_reload::test_what_is_refused_or_tried_changes_nothing",),
    ),
    "I43": Covered(
        "a reload equals a fresh start", (), ("property/test_reload::test_there_and_back_again",)
    ),
    "I44": Covered("no input ends the process", ("absurd request",), (*_WORLDS, _FUZZ)),
    "I45": Covered("a death loses nothing", ("core restarted",), (*_WORLDS, *_SMALL)),
    "I46": Covered(
        "nobody does what he may not",
        (),
        (
            "e2e/test_rest_access::test_a_token_over_tls_opens_what_its_identity_may_see",
            "e2e/test_grpc_security::test_a_call_of_nobody_known_is_refused_whatever_it_is",
        ),
    ),
    "I47": Covered(
        "what is kept has a limit",
        ("ask beyond a limit",),
        (
            (
                "unit/core/test_process_limits::"
                "test_one_more_than_a_limit_is_refused_until_something_ended"
            ),
            "unit/core/test_process_limits::test_every_limit_of_the_table_has_a_case",
            (
                "unit/telemetry/metrics/test_scheduler_families::"
                "test_refusals_by_limits_are_counted_under_the_names_of_the_table"
            ),
            f"{_ATTACKS}test_metadata_and_calls_beyond_their_limits_are_refused",
            f"{_HTTP}test_requests_beyond_the_connection_limit_are_answered_503",
            f"{_BOUNDS}test_ten_megabytes_are_read_and_a_byte_more_is_not",
        ),
    ),
}

# What has neither, and why.
OPEN: Final[dict[str, str]] = {}
