// The name of an object of an event record, as a link to its page where there is one.

import { useContext } from "preact/hooks";
import { Partitions } from "../base/partition";
import { link } from "../base/place";

interface ObjectProps {
  readonly type: number | undefined;
  readonly name: string;
  /** Of the object; empty: the partition that is shown. */
  readonly partition?: string | undefined;
}

const APPLICATION = 2;
const NODE = 3;
const QUEUE = 4;

export function ObjectLink({ type, name, partition = "" }: ObjectProps) {
  const several = (useContext(Partitions).value?.length ?? 0) > 1;
  const there: Record<string, string> = several && partition !== "" ? { partition } : {};
  if (type === APPLICATION) return <a href={link("application", [name], there)}>{name}</a>;
  if (type === NODE) return <a href={link("node", [name], there)}>{name}</a>;
  if (type === QUEUE) return <a href={link("queues", [], { queue: name, ...there })}>{name}</a>;
  return <>{name}</>;
}
