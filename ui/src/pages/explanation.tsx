// The whole explanation of a waiting ask, and the changes that would place it, tried on copies.

import { useEffect, useState } from "preact/hooks";
import type { AskError } from "../base/client";
import { ask as question } from "../base/client";
import { useLive } from "../base/live";
import { usePartitionApi } from "../base/partition";
import { Problem } from "../parts/panel";

interface Gate {
  readonly gate: string;
  readonly subject?: string;
  readonly passed: boolean;
}

interface Explained {
  readonly text: readonly string[];
  readonly gates?: readonly Gate[];
}

interface WaysOut {
  readonly text: readonly string[];
  readonly ways: readonly { readonly text: string; readonly after: number; readonly preempted?: readonly string[] }[];
}

interface ExplanationProps {
  readonly application: string;
  readonly ask: string;
}

export function Explanation({ application, ask }: ExplanationProps) {
  const at = usePartitionApi();
  const path = ["application", application, "ask", ask];
  const explained = useLive<Explained>(at([...path, "explain"]), 10);
  return (
    <div class="explained">
      <Problem problem={explained.problem} />
      {explained.value && <pre>{explained.value.text.join("\n")}</pre>}
      {explained.value?.gates && <Gates gates={explained.value.gates} />}
      <Ways path={at([...path, "ways-out"])} />
    </div>
  );
}

/** All that may stop an ask, in the order in which the scheduler looks at it. */
function Gates({ gates }: { readonly gates: readonly Gate[] }) {
  const named = (each: Gate): string => each.gate + (each.subject ? ` (${each.subject})` : "");
  const stopping = gates.filter((each) => !each.passed).map(named);
  const passed = gates.filter((each) => each.passed).map(named);
  return (
    <>
      <p><span class="badge bad"><span aria-hidden="true">▲</span> Stops it:</span> {stopping.join("; ") || "nothing"}</p>
      <p class="faint">Does not stop it: {passed.join("; ") || "nothing"}</p>
    </>
  );
}

/** The ways out cost the scheduler a few trials, so they are looked for when somebody asks. */
function Ways({ path }: { readonly path: string }) {
  const [asked, setAsked] = useState(0);
  const [found, setFound] = useState<WaysOut>();
  const [problem, setProblem] = useState<AskError>();
  useEffect(() => {
    if (asked === 0) return;
    const control = new AbortController();
    setProblem(undefined);
    setFound(undefined);
    question<WaysOut>(path, { signal: control.signal })
      .then((answer) => setFound(answer.value))
      .catch((error: AskError) => control.signal.aborted || setProblem(error));
    return () => control.abort();
  }, [asked, path]);
  const busy = asked > 0 && found === undefined && problem === undefined;
  return (
    <>
      <button type="button" disabled={busy} onClick={() => setAsked(asked + 1)}>
        {busy ? "Trying changes…" : "What would help?"}
      </button>
      <Problem problem={problem} />
      <div role="status">{found && <pre>{found.text.join("\n")}</pre>}</div>
    </>
  );
}
