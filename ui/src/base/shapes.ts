// The answers of the HTTP API that the pages read. A key that is missing is 0 or empty (REST-19).

import type { Amounts } from "./units";

export interface Partition {
  readonly clusterId: string;
  readonly name: string;
  readonly state: string;
  readonly capacity: { readonly capacity?: Amounts; readonly usedCapacity?: Amounts };
  readonly nodeSortingPolicy?: { readonly type?: string; readonly resourceWeights?: Amounts };
  readonly totalNodes: number;
  readonly totalContainers: number;
  readonly applications: Readonly<Record<string, number>>;
  readonly lastStateTransitionTime?: number;
  readonly preemptionEnabled?: boolean;
  readonly quotaPreemptionEnabled?: boolean;
}

export interface Cluster {
  readonly startTime: number;
  readonly clusterName: string;
  readonly partition: string;
  readonly rmBuildInformation: readonly Readonly<Record<string, string>>[];
}

export interface Queue {
  readonly queuename: string;
  readonly status: string;
  readonly isLeaf: boolean;
  readonly isManaged: boolean;
  readonly children?: readonly Queue[];
  readonly allocatedResource?: Amounts;
  readonly pendingResource?: Amounts;
  readonly preemptingResource?: Amounts;
  readonly guaranteedResource?: Amounts;
  readonly maxResource?: Amounts;
  readonly headroom?: Amounts;
  readonly properties?: Readonly<Record<string, string>>;
  readonly template?: {
    readonly maxApplications?: number;
    readonly maxResource?: Amounts;
    readonly guaranteedResource?: Amounts;
    readonly properties?: Readonly<Record<string, string>>;
  };
  readonly runningApps?: number;
  readonly maxRunningApps?: number;
  readonly allocatingAcceptedApps?: readonly string[];
  readonly currentPriority: number;
  readonly priorityOffset?: number;
  readonly sortingPolicy?: string;
  readonly prioritySorting?: boolean;
  readonly preemptionEnabled?: boolean;
  readonly isPreemptionFence?: boolean;
  readonly isPriorityFence?: boolean;
  readonly preemptionDelay?: string;
}

export interface Allocation {
  readonly allocationKey: string;
  readonly allocationID?: string;
  readonly applicationId?: string;
  readonly nodeId?: string;
  readonly resource?: Amounts;
  readonly priority?: string;
  readonly requestTime?: number;
  readonly allocationTime?: number;
  readonly placeholder?: boolean;
  readonly placeholderUsed?: boolean;
  readonly taskGroupName?: string;
  readonly preempted?: boolean;
  readonly preemptedBy?: { readonly number: number };
  readonly originator?: boolean;
}

export interface Reason {
  readonly message: string;
  readonly lastOccurrence: number;
  readonly count: number;
}

export interface Ask {
  readonly allocationKey: string;
  readonly requestTime?: number;
  readonly resource?: Amounts;
  readonly pendingCount?: number;
  readonly priority?: string;
  readonly requiredNodeId?: string;
  readonly placeholder?: boolean;
  readonly taskGroupName?: string;
  readonly allocationLog?: readonly Reason[];
  readonly triggeredPreemption?: boolean;
}

export interface TaskGroup {
  readonly taskGroupName?: string;
  readonly count?: number;
  readonly minResource?: Amounts;
  readonly replaced?: number;
  readonly timedout?: number;
}

export interface Application {
  readonly applicationID: string;
  readonly applicationState: string;
  readonly queueName: string;
  readonly partition?: string;
  readonly user: string;
  readonly groups?: readonly string[];
  readonly submissionTime: number;
  readonly finishedTime?: number;
  readonly usedResource?: Amounts;
  readonly maxUsedResource?: Amounts;
  readonly pendingResource?: Amounts;
  readonly rejectedMessage?: string;
  readonly stateLog?: readonly { readonly time: number; readonly applicationState: string }[];
  readonly placeholderData?: readonly TaskGroup[];
  readonly reservations?: readonly string[];
  readonly requests?: readonly Ask[];
  readonly allocations?: readonly Allocation[];
  readonly preemptions?: readonly number[];
  readonly evictions?: readonly number[];
}

export interface Finding {
  readonly gate?: string;
  readonly subject?: string;
  readonly requested?: Amounts;
  readonly available?: Amounts;
  readonly nodes?: {
    readonly total?: number;
    readonly draining?: number;
    readonly reserved?: number;
    readonly tooSmall?: number;
    readonly noRoom?: number;
    readonly refused?: number;
    readonly reasons?: Readonly<Record<string, number>>;
  };
  readonly since?: number;
  readonly count?: number;
  readonly until?: number;
}

export interface PendingAsk {
  readonly allocationKey: string;
  readonly position: number;
  readonly reason?: string;
  readonly subject?: string;
  readonly since?: number;
  readonly attempts?: number;
  readonly lastEvent?: Reason;
  readonly finding?: Finding;
}

export interface Pending {
  readonly queueName: string;
  readonly position?: number;
  readonly of?: number;
  readonly requests: readonly PendingAsk[];
}

export interface Node {
  readonly nodeID: string;
  readonly hostName?: string;
  readonly rackName?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly capacity?: Amounts;
  readonly allocated?: Amounts;
  readonly occupied?: Amounts;
  readonly available?: Amounts;
  readonly schedulable?: boolean;
  readonly drainedByOperator?: boolean;
  readonly ready?: boolean;
  readonly isReserved?: boolean;
  readonly reservations?: readonly string[];
  readonly allocations?: readonly Allocation[];
  readonly foreignAllocations?: readonly Allocation[];
}

export interface Health {
  readonly Healthy: boolean;
  readonly HealthChecks: readonly {
    readonly Name: string;
    readonly Succeeded: boolean;
    readonly Description: string;
    readonly DiagnosisMessage: string;
  }[];
}

export interface EventRecord {
  readonly type?: number;
  readonly objectID?: string;
  readonly message?: string;
  readonly timestampNano?: number;
  readonly eventChangeType?: number;
  readonly eventChangeDetail?: number;
  readonly referenceID?: string;
  readonly resource?: { readonly resources?: Readonly<Record<string, { readonly value?: number }>> };
}

export interface EventLine {
  readonly id: number;
  readonly partition?: string;
  readonly rmID?: string;
  readonly queue?: string;
  readonly record: EventRecord;
}

export interface EventBatch {
  readonly InstanceUUID: string;
  readonly LowestID: number;
  readonly HighestID: number;
  readonly EventRecords: readonly EventLine[] | null;
}

export interface Victim {
  readonly applicationId: string;
  readonly allocationKey: string;
  readonly queueName: string;
  readonly nodeId: string;
  readonly resource?: Amounts;
  readonly priority?: string;
  readonly confirmed?: boolean;
}

export interface Preemption {
  readonly number: number;
  readonly kind: string;
  readonly time: number;
  readonly applicationId?: string;
  readonly allocationKey?: string;
  readonly nodeId?: string;
  readonly queueName: string;
  readonly resource?: Amounts;
  readonly reasons?: readonly string[];
  readonly victims: readonly Victim[];
  readonly freed?: Amounts;
  readonly outcome: string;
  readonly cause?: string;
  readonly finishedTime?: number;
}

export interface Preemptions {
  readonly preemptions: readonly Preemption[];
  readonly repeated: readonly {
    readonly applicationId: string;
    readonly allocationKey?: string;
    readonly count: number;
    readonly firstOccurrence: number;
    readonly lastOccurrence: number;
  }[];
}

export interface UsageQueue {
  readonly queuePath: string;
  readonly resourceUsage?: Amounts;
  readonly runningApplications?: readonly string[];
  readonly maxResources?: Amounts;
  readonly maxApplications?: number;
  readonly children?: readonly UsageQueue[];
}

export interface Usage {
  readonly userName?: string;
  readonly groupName?: string;
  readonly queues: UsageQueue;
}

export interface FairShare {
  readonly queueName: string;
  readonly isLeaf: boolean;
  readonly allocated?: Amounts;
  readonly pending?: Amounts;
  readonly guaranteed?: Amounts;
  readonly maximum?: Amounts;
  readonly share: number;
  readonly terms: readonly {
    readonly resource: string;
    readonly used: number;
    readonly divisor: number;
    readonly ratio: number;
  }[];
  readonly priority: number;
  readonly owed?: Amounts;
  readonly belowSince?: number;
}

export interface FairShareHistory {
  readonly queue: FairShare;
  readonly samples: readonly { readonly timestamp: number; readonly share: number; readonly owed: number }[];
}

export interface PlacementRule {
  readonly name: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly filter?: Readonly<Record<string, unknown>>;
  readonly parentRule?: PlacementRule;
}
