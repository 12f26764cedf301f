import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Application, Node, Preemption, Queue } from "../src/base/shapes";
import { applicationSource, isLeaf, readOrder, sorted } from "../src/pages/application_rows";
import { reason } from "../src/pages/application_asks";
import { difference } from "../src/base/line_diff";
import { faultsOf, sectionsOf } from "../src/pages/configuration_faults";
import { byNode } from "../src/pages/dry_run";
import { readAmounts, submissionOf } from "../src/pages/dry_run_form";
import { isOwed } from "../src/pages/fair_share";
import { readMetrics } from "../src/pages/metrics";
import { byApplication } from "../src/pages/node";
import { nodeState, share } from "../src/pages/node_rows";
import { applicationCounts } from "../src/pages/overview_summary";
import { flows, picture } from "../src/pages/preemption_flows";
import { queueRows, toggled } from "../src/pages/queue_rows";
import { usageOf } from "../src/pages/queue_users";
import { cellAt, layout } from "../src/parts/heat_layout";
import { path, roundTop } from "../src/parts/line_chart";
import { stretches } from "../src/parts/state_line";
import { inView } from "../src/parts/table";
import { isToken } from "../src/base/token";
import { chosen } from "../src/base/partition";
import { pieces } from "../src/parts/yaml";

function queue(queuename: string, children: Queue[] = []): Queue {
  return { queuename, status: "Active", isLeaf: children.length === 0, isManaged: true, currentPriority: 0, children };
}

const TREE = queue("root", [queue("root.a", [queue("root.a.x"), queue("root.a.y")]), queue("root.ab")]);

test("queues are rows in the order of the tree, and closed ones hide what is below", () => {
  deepEqual(queueRows(TREE, "", "").map((row) => [row.label, row.depth]), [
    ["root", 0], ["a", 1], ["x", 2], ["y", 2], ["ab", 1],
  ]);
  deepEqual(queueRows(TREE, "", "root.a").map((row) => row.label), ["root", "a", "ab"]);
  deepEqual(queueRows(TREE, "A.", "root").map((row) => row.label), ["root.a.x", "root.a.y"]);
  deepEqual(queueRows(undefined, "", ""), []);
  equal(toggled(toggled("", "root.a"), "root.a"), "");
});

test("a leaf is found by its path", () => {
  deepEqual(["root", "root.a", "root.a.x", "root.ab", "root.a.z"].map((each) => isLeaf(TREE, each)), [
    false, false, true, true, false,
  ]);
});

function application(applicationID: string, user: string, vcore: number): Application {
  return { applicationID, applicationState: "Running", queueName: "root.a.x", user, submissionTime: 1, usedResource: { vcore } };
}

test("applications are filtered and sorted, equal ones by ID", () => {
  const rows = [application("b", "ann", 2), application("a", "bob", 2), application("c", "ann", 5)];
  const ids = (search: string, queueName: string, order: string) =>
    sorted(rows, search, queueName, readOrder(order)).map((row) => row.applicationID);
  deepEqual(ids("", "", "-used vcore"), ["c", "a", "b"]);
  deepEqual(ids("ANN", "", "id"), ["b", "c"]);
  deepEqual(ids("", "root.a", "-id"), ["c", "b", "a"]);
  deepEqual(ids("", "root.b", "id"), []);
});

test("the service filters by state and leaf where it can", () => {
  const source = (text: string, leaf = false) => applicationSource(new Map(new URLSearchParams(text)), leaf);
  deepEqual(source("").names, ["applications", "active"]);
  equal(source("state=running").query["status"], "running");
  deepEqual(source("queue=root.a", true).names, ["queue", "root.a", "applications", "active"]);
  equal(source("queue=root.a").queue, "root.a");
  equal(source("list=rejected&state=running&queue=q", true).query["status"], undefined);
  deepEqual(source("list=evil").names, ["applications", "active"]);
});

test("the reason of an ask names what stops it", () => {
  const ask = { allocationKey: "k" };
  equal(reason(ask, undefined), "No decision has looked at it yet.");
  equal(
    reason(ask, { allocationKey: "k", position: 1, reason: "queue quota", subject: "root.a", attempts: 3 }),
    "It waits for: queue quota (root.a), found 3 times in a row.",
  );
});

test("nodes have one state, and use counts what others occupy", () => {
  const node: Node = { nodeID: "n", capacity: { vcore: 10 }, allocated: { vcore: 4 }, occupied: { vcore: 1 } };
  equal(nodeState(node), "ready");
  equal(nodeState({ ...node, isReserved: true }), "reserved");
  equal(nodeState({ ...node, isReserved: true, schedulable: false }), "draining");
  equal(nodeState({ ...node, schedulable: false, ready: false }), "not ready");
  equal(share(node, "vcore"), 0.5);
  equal(share(node, "gpu"), -1);
  deepEqual(
    byApplication({ ...node, allocations: [{ allocationKey: "1", applicationId: "b", resource: { vcore: 2 } }, { allocationKey: "2", applicationId: "a", resource: { vcore: 2 } }] }, "vcore"),
    [{ name: "a", value: 2 }, { name: "b", value: 2 }, { name: "others than the scheduler", value: 1 }],
  );
});

test("squares of the map fit, and a point finds its square", () => {
  for (const cells of [1, 100, 10_000]) {
    const grid = layout(cells, 1_000);
    equal(grid.columns * grid.side <= 1_000, true);
    equal(Math.ceil(cells / grid.columns) * grid.side <= 190, true);
    equal(cellAt(grid, cells, grid.side / 2, grid.side / 2), 0);
    equal(cellAt(grid, cells, 999_999, 0), -1);
  }
});

test("a table draws the rows in view and a few more", () => {
  deepEqual([...inView(0, 300, 30, 100_000)], [0, 18]);
  deepEqual([...inView(3_000_000 - 300, 300, 30, 100_000)], [99_982, 100_000]);
  deepEqual([...inView(900, 300, 30, 3)], [3, 3]);
});

test("states last until the next one", () => {
  const app = { ...application("a", "u", 1), submissionTime: 1e9, stateLog: [{ time: 3e9, applicationState: "Running" }] };
  deepEqual(stretches(app, 10_000).map((each) => [each.state, each.lasted]), [["New", 2_000], ["Running", 7_000]]);
  equal(stretches({ ...app, finishedTime: 4e9 }, 10_000)[1]?.lasted, 1_000);
});

test("states are counted by what they mean", () => {
  deepEqual([...applicationCounts({ Running: 3, New: 1, Accepted: 2, Completed: 4, total: 10 })], [3, 3, 4]);
  deepEqual([...applicationCounts({})], [0, 0, 0]);
});

test("preemptions flow from the queues or applications of victims (EXT-92)", () => {
  const victim = { applicationId: "v", allocationKey: "k", queueName: "root.b", nodeId: "n", resource: { vcore: 500, gpu: 1 } };
  const one = { number: 1, kind: "queue", time: 1, queueName: "root.a", applicationId: "p", outcome: "done", victims: [victim, { ...victim, applicationId: "w" }] } satisfies Preemption;
  deepEqual(flows([one], "queues"), [{ from: "root.b", to: "root.a", victims: 2, taken: { vcore: 1000, gpu: 2 } }]);
  deepEqual(flows([one, one], "applications").map((each) => [each.from, each.to, each.victims]), [["v", "p", 2], ["w", "p", 2]]);
  deepEqual(flows([{ ...one, applicationId: "" }], "applications").map((each) => each.to), ["root.a", "root.a"]);
});

test("bands are as wide as what was taken, and touch both of their ends", () => {
  const flow = (from: string, to: string, victims: number) => ({ from, to, victims, taken: { gpu: from === "b" ? 1 : 0 } });
  const found = [flow("b", "a", 3), flow("c", "a", 1)];
  const all = picture(found, "", 100);
  deepEqual(all.bands.map((each) => [each.left, each.right, each.height]), [[0, 0, 75], [85, 75, 25]]);
  deepEqual(all.right.map((each) => [each.name, each.size, each.height]), [["a", 4, 100]]);
  deepEqual(picture(found, "gpu", 100).bands.map((each) => each.flow.from), ["b"]);
  equal(picture([], "", 100).bands.length, 0);
});

test("the use of a queue is found in the tree of a user", () => {
  const tree = { queuePath: "root", children: [{ queuePath: "root.a", children: [{ queuePath: "root.a.b" }] }, { queuePath: "root.ab" }] };
  equal(usageOf(tree, "root.ab")?.queuePath, "root.ab");
  equal(usageOf(tree, "root.a.b")?.queuePath, "root.a.b");
  equal(usageOf(tree, "root.c"), undefined);
});

test("metrics are read, whatever stands in a label", () => {
  const read = readMetrics('# HELP a b\na{x="1\\"}",y="2"} 3.5\nb 4\nno metric\n');
  deepEqual(read.get("a"), [{ labels: { x: '1\\"}', y: "2" }, value: 3.5 }]);
  equal(read.get("b")?.[0]?.value, 4);
  equal(read.size, 2);
});

test("keys and comments of a configuration are set apart", () => {
  deepEqual(pieces("  - name: a # b"), [
    { kind: "", text: "  - " }, { kind: "key", text: "name" }, { kind: "", text: ": a" }, { kind: "comment", text: " # b" },
  ]);
  deepEqual(pieces('a: "x # y"').at(-1), { kind: "", text: ': "x # y"' });
});

test("scales end at a round number, and lines stay below it", () => {
  deepEqual([0, 0.3, 1, 7, 51].map(roundTop), [1, 0.5, 1, 10, 100]);
  equal(path([], [], 1), "");
  equal(path([0, 10], [0, 5], 1).split("L").length, 2);
});

test("a queue below its guarantee in nothing that it wants is not owed anything", () => {
  const row = { queueName: "root.a", isLeaf: true, share: 1, terms: [], priority: 0 };
  equal(isOwed({ ...row, belowSince: 5, owed: { vcore: 1 } }), true);
  equal(isOwed({ ...row, belowSince: 5 }), false);
  equal(isOwed({ ...row, belowSince: 5, owed: { vcore: 0 } }), false);
  equal(isOwed({ ...row, owed: { vcore: 1 } }), false);
});

test("a token is what a header can carry", () => {
  deepEqual(["abc-1._~+/=", "a b", "“a”", "é", "a\nb", ""].map(isToken), [true, false, false, false, false, false]);
});

test("without a name the usual partition is shown, else the first (WEB-36)", () => {
  const of = (clusterId: string, name: string) => ({ clusterId, name, state: "Active", capacity: {}, totalNodes: 0, totalContainers: 0, applications: {} });
  const all = [of("rm1", "gpu"), of("rm1", "default"), of("rm2", "gpu")];
  equal(chosen(all, "", ""), all[1]);
  equal(chosen(all, "", "rm2"), all[2]);
  equal(chosen(all, "gpu", ""), all[0]);
  equal(chosen([of("rm2", "x")], "", "")?.name, "x");
  equal(chosen(all, "none", ""), undefined);
  equal(chosen(undefined, "", ""), undefined);
});

test("the fields of a dry run are a submission, or a fault (EXT-90)", () => {
  const of = (text: string) => submissionOf(new Map(new URLSearchParams(text)));
  deepEqual(of("queue=root.a&user=ada&groups=x, y&cpus=2&memory=8Gi&more=nvidia.com/gpu%3D1&copies=3&priority=-5&within=60&preempt=1").submission, {
    applicationId: "dry-run", queue: "root.a", user: "ada", groups: ["x", "y"], allowPreemptOther: true, within: 60,
    asks: [{ allocationKey: "ask", resource: { "nvidia.com/gpu": "1", vcore: "2", memory: "8Gi" }, maxAllocations: 3, priority: -5 }],
  });
  deepEqual(of("cpus=1&copies=4&gang=1").submission, {
    applicationId: "dry-run", queue: "", groups: [], allowPreemptOther: false, within: 0,
    taskGroups: [{ name: "member", minMember: 4, minResource: { vcore: "1" }, priority: 0 }],
  });
  for (const wrong of ["", "cpus=1&copies=0", "cpus=1&copies=x", "cpus=1&priority=1e3", "cpus=1&within=86401", "more=gpu"]) {
    equal(of(wrong).submission, undefined);
    equal(typeof of(wrong).fault, "string");
  }
  equal(readAmounts("a=1 a=2"), undefined);
});

test("placements are counted by node, the fullest first", () => {
  const placed = (nodeId: string, after: number) => ({ applicationId: "a", allocationKey: "k", nodeId, after });
  deepEqual(byNode([placed("b", 0), placed("c", 5), placed("a", 0), placed("c", 1)]), [["c", 2, 5], ["a", 1, 0], ["b", 1, 0]]);
});

test("faults of a configuration have the lines that the service names (EXT-91)", () => {
  deepEqual(faultsOf("Config:3:5: root.a: 'x' is no amount [CFG-1]; config:12:1: twice; and 4 more"), [
    { line: 3, words: "root.a: 'x' is no amount [CFG-1]" }, { line: 12, words: "twice" }, { line: 0, words: "and 4 more" },
  ]);
  deepEqual(faultsOf("Queue root.a: a; b"), [{ line: 0, words: "Queue root.a: a; b" }]);
});

test("an impact has its kinds, and none if nothing differs (EXT-91)", () => {
  deepEqual(sectionsOf({ ended: [] }), []);
  const amount = { queue: "root.a", resource_type: "vcore", before: null, after: 3_000, against: 4_000 };
  deepEqual(sectionsOf({ quotas_below_usage: [amount], moved: [{ application_id: "x", before: "root.b", after: "", reason: "no rule" }] }), [
    { title: "Maxima below what is used", entries: ["root.a: CPU 4 used, at most 3 instead of no limit"] },
    { title: "Applications that would be placed elsewhere", entries: ["x: refused instead of root.b (no rule)"] },
  ]);
});

test("the lines that differ are shown with three around them", () => {
  const show = (old: string, fresh: string) => difference(old, fresh).map((each) => `${each.kind[0]}${each.number}${each.text}`).join(" ");
  equal(show("a\nb\n", "a\r\nb"), "");
  equal(show("a\nb\nc", "a\nx\nc"), "s1a o2b n2x s3c");
  equal(show("", "a"), "n1a");
  equal(show("a\nb", ""), "o1a o2b");
  equal(show("a\nb\nc\nd", "b\nc\ne\nd"), "o1a s1b s2c n3e s4d");
  const many = Array.from({ length: 20 }, (_, at) => `l${at + 1}`);
  const other = many.map((each) => (each === "l10" ? "new" : each));
  equal(show(many.join("\n"), other.join("\n")), "g6 s7l7 s8l8 s9l9 o10l10 n10new s11l11 s12l12 s13l13 g7");
  const large = Array.from({ length: 5_000 }, (_, at) => `x${at}`).join("\n");
  equal(difference(`a\n${large}\nb`, `c\n${large.replaceAll("x", "y")}\nd`).length, 10_004);
});
