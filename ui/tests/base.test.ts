import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { changeName } from "../src/base/flags";
import { retryDelay } from "../src/base/live";
import { address, readPlace } from "../src/base/place";
import { duration } from "../src/base/times";
import { amount, amounts, label, ordered, part } from "../src/base/units";

test("amounts of memory are powers of 1024, others of 1000 (WEB-25)", () => {
  equal(amount("memory", 0), "0 B");
  equal(amount("memory", 1023), "1023 B");
  equal(amount("memory", 1024), "1 KiB");
  equal(amount("memory", 1.5 * 2 ** 30), "1.5 GiB");
  equal(amount("memory", 2 ** 60), "1 EiB");
  equal(amount("hugepages-2Mi", 2 ** 21), "2 MiB");
  equal(amount("ephemeral-storage", 1500), "1.5 kB");
  equal(amount("nvidia.com/gpu", 12), "12");
  equal(amount("pods", 1_234_567), "1.23M");
});

test("thousandths of a core are cores (WEB-25)", () => {
  equal(amount("vcore", 0), "0");
  equal(amount("vcore", 500), "500m");
  equal(amount("vcore", 2_500), "2.5");
  equal(amount("vcore", 4_000_000), "4k");
  equal(amount("vcore", -2_000), "-2");
});

test("memory and CPU come first, the rest by name (WEB-24)", () => {
  deepEqual(ordered(["z", "vcore", "a", "memory", "ephemeral-storage", "pods", "a"]), [
    "memory", "vcore", "pods", "ephemeral-storage", "a", "z",
  ]);
  equal(label("nvidia.com/gpu"), "GPU");
  equal(label("x/"), "x/");
  equal(amounts({ vcore: 1000, memory: 1024 }), "Memory 1 KiB, CPU 1");
  equal(amounts({}), "none");
});

test("a part of nothing is nothing until there is use", () => {
  equal(part(0, 0), 0);
  equal(part(5, 0), 1);
  equal(part(-1, 10), 0);
  equal(part(20, 10), 1);
});

test("an address that is read is the place that was written, whatever the names are (EXT-86)", () => {
  const hostile = "a/b?c=d#e%2F&f <g> é";
  const place = readPlace(address("application", [hostile], [["queue", hostile], ["empty", ""]]));
  equal(place.page, "application");
  deepEqual([...place.names], [hostile]);
  deepEqual([...place.query], [["queue", hostile]]);
});

test("a broken or empty address is a place, too", () => {
  equal(readPlace("").page, "overview");
  equal(readPlace("#/").page, "overview");
  deepEqual([...readPlace("#/node/%zz").names], ["%zz"]);
});

test("attempts come later and later, but within half a minute (EXT-87)", () => {
  deepEqual([1, 2, 3, 6, 60].map(retryDelay), [1_000, 2_000, 4_000, 30_000, 30_000]);
});

test("durations have two units at most", () => {
  equal(duration(-5), "0 ms");
  equal(duration(999), "999 ms");
  equal(duration(1_500), "1.5 s");
  equal(duration(61_000), "1 min 1 s");
  equal(duration(3_600_000), "1 h 0 min");
  equal(duration(90_000_000), "1 d 1 h");
});

test("numbers of events have words, and unknown ones are shown", () => {
  equal(changeName(1, 206), "running");
  equal(changeName(2, 303), "allocation added");
  equal(changeName(3, 0), "removed");
  equal(changeName(1, 999), "detail 999 set");
});
