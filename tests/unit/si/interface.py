"""Every name and number of the interface that the founding documents define (chapter 70.13).

It is that of upstream commit e7622cf. The table is written out so that a slip in proto/ cannot
change it as well; it never changes.
"""

from __future__ import annotations

from typing import Final

FIELDS: Final = {
    "RegisterResourceManagerRequest": (
        "rmID 1, version 2, policyGroup 3, buildInfo 4, config 5, extraConfig 6"
    ),
    "RegisterResourceManagerResponse": "",
    "AllocationRequest": "asks 1, releases 2, rmID 3, allocations 4",
    "ApplicationRequest": "new 1, remove 2, rmID 3",
    "NodeRequest": "nodes 1, rmID 2",
    "AllocationResponse": ("new 1, released 2, releasedAsks 3, rejected 4, rejectedAllocations 5"),
    "ApplicationResponse": "rejected 1, accepted 2, updated 3",
    "NodeResponse": "rejected 1, accepted 2",
    "UpdatedApplication": "applicationID 1, state 2, stateTransitionTimestamp 3, message 4",
    "RejectedApplication": "applicationID 1, reason 2",
    "AcceptedApplication": "applicationID 1",
    "RejectedNode": "nodeID 1, reason 2",
    "AcceptedNode": "nodeID 1",
    "RejectedAllocationAsk": "allocationKey 1, applicationID 2, reason 3",
    "RejectedAllocation": "allocationKey 1, applicationID 2, reason 3",
    "Resource": "resources 1",
    "Quantity": "value 1",
    "AllocationAsk": (
        "allocationKey 1, applicationID 2, partitionName 3, resourceAsk 4, maxAllocations 5,"
        " priority 6, executionTimeoutMilliSeconds 7, tags 8, taskGroupName 9, placeholder 10,"
        " Originator 11, preemptionPolicy 12"
    ),
    "PreemptionPolicy": "allowPreemptSelf 1, allowPreemptOther 2",
    "AddApplicationRequest": (
        "applicationID 1, queueName 2, partitionName 3, ugi 4, tags 5,"
        " executionTimeoutMilliSeconds 6, placeholderAsk 7, gangSchedulingStyle 8"
    ),
    "RemoveApplicationRequest": "applicationID 1, partitionName 2",
    "UserGroupInformation": "user 1, groups 2",
    "Allocation": (
        "allocationKey 1, allocationTags 2, UUID 3, resourcePerAlloc 5, priority 6, nodeID 8,"
        " applicationID 9, partitionName 10, taskGroupName 11, placeholder 12"
    ),
    "AllocationReleasesRequest": "allocationsToRelease 1, allocationAsksToRelease 2",
    "AllocationRelease": (
        "partitionName 1, applicationID 2, UUID 3, terminationType 4, message 5, allocationKey 6"
    ),
    "AllocationAskRelease": (
        "partitionName 1, applicationID 2, allocationKey 3, terminationType 4, message 5"
    ),
    "NodeInfo": (
        "nodeID 1, action 2, attributes 3, schedulableResource 4, occupiedResource 5,"
        " existingAllocations 6"
    ),
    "PredicatesArgs": "allocationKey 1, nodeID 2, allocate 3",
    "PreemptionPredicatesArgs": (
        "allocationKey 1, nodeID 2, preemptAllocationKeys 3, startIndex 4"
    ),
    "PreemptionPredicatesResponse": "success 1, index 2",
    "UpdateContainerSchedulingStateRequest": (
        "applicartionID 1, allocationKey 2, state 3, reason 4"
    ),
    "UpdateConfigurationRequest": "rmID 2, policyGroup 3, config 4, extraConfig 5",
    "EventRecord": (
        "type 1, objectID 2, message 5, timestampNano 6, eventChangeType 7, eventChangeDetail 8,"
        " referenceID 9, resource 10"
    ),
}

VALUES: Final = {
    "TerminationType": (
        "UNKNOWN_TERMINATION_TYPE 0, STOPPED_BY_RM 1, TIMEOUT 2, PREEMPTED_BY_SCHEDULER 3,"
        " PLACEHOLDER_REPLACED 4"
    ),
    "NodeInfo.ActionFromRM": (
        "UNKNOWN_ACTION_FROM_RM 0, CREATE 1, UPDATE 2, DRAIN_NODE 3, DECOMISSION 4,"
        " DRAIN_TO_SCHEDULABLE 5, CREATE_DRAIN 6"
    ),
    "UpdateContainerSchedulingStateRequest.SchedulingState": (
        "UNKNOWN_SCHEDULING_STATE 0, SKIPPED 1, SCHEDULED 2, RESERVED 3, FAILED 4"
    ),
    "EventRecord.Type": "UNKNOWN_EVENTRECORD_TYPE 0, REQUEST 1, APP 2, NODE 3, QUEUE 4",
    "EventRecord.ChangeType": "NONE 0, SET 1, ADD 2, REMOVE 3",
    "EventRecord.ChangeDetail": (
        "DETAILS_NONE 0, REQUEST_CANCEL 100, REQUEST_ALLOC 101, REQUEST_TIMEOUT 102,"
        " APP_ALLOC 200, APP_REQUEST 201, APP_REJECT 202, APP_NEW 203, APP_ACCEPTED 204,"
        " APP_STARTING 205, APP_RUNNING 206, APP_COMPLETING 207, APP_COMPLETED 208,"
        " APP_FAILING 209, APP_FAILED 210, APP_RESUMING 211, APP_EXPIRED 212,"
        " NODE_DECOMISSION 300, NODE_READY 301, NODE_SCHEDULABLE 302, NODE_ALLOC 303,"
        " NODE_CAPACITY 304, NODE_OCCUPIED 305, NODE_RESERVATION 306,"
        " QUEUE_CONFIG 400, QUEUE_DYNAMIC 401, QUEUE_TYPE 402, QUEUE_MAX 403,"
        " QUEUE_GUARANTEED 404, QUEUE_APP 405, QUEUE_ALLOC 406,"
        " ALLOC_CANCEL 500, ALLOC_PREEMPT 501, ALLOC_TIMEOUT 502, ALLOC_REPLACED 503,"
        " ALLOC_NODEREMOVED 504"
    ),
}

# What release 1.5.1 and the event design need beyond it.
ADDED: Final = {
    "Allocation": "allocationID 13, originator 14, preemptionPolicy 15",
    "AllocationRelease": "allocationID 7",
    "EventRecord.Type": "USERGROUP 5",
    "EventRecord.ChangeDetail": (
        "APP_CANNOTRUN_QUEUE 213, APP_RUNNABLE_QUEUE 214, APP_CANNOTRUN_QUOTA 215,"
        " APP_RUNNABLE_QUOTA 216, UG_USER_LIMIT 600, UG_GROUP_LIMIT 601, UG_APP_LINK 602,"
        " UG_USER_RESOURCE 603, UG_GROUP_RESOURCE 604"
    ),
}
