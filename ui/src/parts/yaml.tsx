// A configuration with numbers of lines, keys and comments set apart, and a line that is wrong marked.

import { useEffect, useRef } from "preact/hooks";

interface YamlProps {
  readonly text: string;
  /** Numbers of lines to mark. */
  readonly wrong: readonly number[];
}

const MOST_LINES = 5_000;

export interface Piece {
  readonly kind: "" | "key" | "comment";
  readonly text: string;
}

/** Return the pieces of a line. Quoted texts may hold anything; a # counts after a space only. */
export function pieces(line: string): Piece[] {
  const found: Piece[] = [];
  const comment = /(^|\s)#.*$/.exec(line.replace(/"[^"]*"|'[^']*'/g, (quoted) => "x".repeat(quoted.length)));
  const end = comment ? comment.index : line.length;
  const key = /^(\s*(?:- )*)([^\s:#"'][^:#"']*)(?=:(\s|$))/.exec(line.slice(0, end));
  if (key) {
    found.push({ kind: "", text: key[1] ?? "" }, { kind: "key", text: key[2] ?? "" });
    found.push({ kind: "", text: line.slice(key[0].length, end) });
  } else {
    found.push({ kind: "", text: line.slice(0, end) });
  }
  if (comment) found.push({ kind: "comment", text: line.slice(end) });
  return found.filter((piece) => piece.text !== "");
}

export function Yaml({ text, wrong }: YamlProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const first = box.current?.querySelector<HTMLElement>(".wrong");
    if (first && box.current) box.current.scrollTop = first.offsetTop - box.current.offsetTop - 60;
  }, [text, wrong]);
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <div class="yaml" ref={box} tabIndex={0} role="region" aria-label="Configuration">
      <pre>
        {lines.slice(0, MOST_LINES).map((line, index) => (
          <span key={index} class={wrong.includes(index + 1) ? "line wrong" : "line"}>
            {pieces(line).map((piece, at) => <span key={at} class={piece.kind}>{piece.text}</span>)}
            {"\n"}
          </span>
        ))}
      </pre>
      {lines.length > MOST_LINES && <p class="faint">{lines.length - MOST_LINES} more lines are not shown.</p>}
    </div>
  );
}
