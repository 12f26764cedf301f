// A field of small squares, one for each node: darker means fuller. 10,000 are drawn in a few milliseconds.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "../base/units";
import { useCell } from "../base/cell";
import { theme } from "../base/settings";
import { cellAt, layout } from "./heat_layout";

export interface HeatCell {
  readonly id: string;
  /** Between 0 and 1; -1: not known. */
  readonly share: number;
  /** A cross: it takes nothing new. A dot: it is reserved. */
  readonly mark: "" | "cross" | "dot";
}

interface HeatProps {
  readonly name: string;
  readonly cells: readonly HeatCell[];
  readonly describe: (index: number) => string;
  readonly onChoice: (id: string) => void;
}

/** Upper ends of the steps of the scale. */
const STEPS = [0.001, 0.25, 0.5, 0.75, 0.95, 1] as const;
const NAMES = ["empty", "up to 25 %", "up to 50 %", "up to 75 %", "up to 95 %", "full"];
const LIGHT = ["#e3e8ed", "#c6d8ea", "#93b8dc", "#5b90c4", "#2f67a3", "#173f6d"];
const DARK = ["#2a333c", "#27425f", "#2f628f", "#4389bf", "#74b1e2", "#bfe0fb"];

export function step(share: number): number {
  const found = STEPS.findIndex((end) => share < end);
  return found < 0 ? STEPS.length - 1 : found;
}

export function HeatMap({ name, cells, describe, onChoice }: HeatProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(600);
  const [at, setAt] = useState(-1);
  const chosen = useCell(theme);
  const grid = layout(cells.length, width);
  useLayoutEffect(() => {
    const frame = canvas.current?.parentElement;
    if (!frame) return;
    const watcher = new ResizeObserver(() => setWidth(Math.max(100, frame.clientWidth)));
    watcher.observe(frame);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current) draw(canvas.current, cells, grid.side, grid.columns, width, grid.height);
  }, [cells, width, grid.side, grid.columns, grid.height, chosen]);
  const under = (event: MouseEvent): number => cellAt(grid, cells.length, event.offsetX, event.offsetY);
  const numbers = NAMES.map((_, index) => cells.filter((each) => each.share >= 0 && step(each.share) === index).length);
  const marked = (mark: string): number => cells.filter((each) => each.mark === mark).length;
  const said = NAMES.map((each, index) => `${numbers[index]} ${each}`).join(", ");
  return (
    <div class="heat">
      <div>
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${name} of ${cells.length} nodes: ${said}. The table below has each.`}
          title={at < 0 ? "" : describe(at)}
          style={{ width: `${width}px`, height: `${grid.height}px` }}
          onPointerMove={(event) => setAt(under(event))}
          onPointerLeave={() => setAt(-1)}
          onClick={(event) => {
            const cell = cells[under(event)];
            if (cell) onChoice(cell.id);
          }}
        />
      </div>
      <ul class="key">
        {NAMES.map((each, index) => (
          <li key={each}><span class={`swatch h${index}`} /> {each}: {count(numbers[index] ?? 0)}</li>
        ))}
        <li>✕ takes nothing new: {count(marked("cross"))}</li>
        <li>• reserved: {count(marked("dot"))}</li>
      </ul>
      <p class="faint under">{at < 0 ? "\u00a0" : describe(at)}</p>
    </div>
  );
}

function isDark(): boolean {
  const chosen = theme.get();
  return chosen === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
}

function draw(
  canvas: HTMLCanvasElement,
  cells: readonly HeatCell[],
  side: number,
  columns: number,
  width: number,
  height: number,
): void {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.scale(ratio, ratio);
  const dark = isDark();
  const colours = dark ? DARK : LIGHT;
  const gap = side > 5 ? 1 : 0;
  cells.forEach((cell, index) => {
    const x = (index % columns) * side;
    const y = Math.floor(index / columns) * side;
    if (cell.share >= 0) {
      pen.fillStyle = colours[step(cell.share)] ?? "";
      pen.fillRect(x, y, side - gap, side - gap);
    }
    if (cell.mark === "cross" && side > 4) cross(pen, x, y, side - gap, dark);
    if (cell.mark === "dot" && side > 7) dot(pen, x, y, side - gap, cell.share > 0.75 !== dark);
  });
}

function dot(pen: CanvasRenderingContext2D, x: number, y: number, side: number, bright: boolean): void {
  pen.fillStyle = bright ? "#ffffff" : "#1b2127";
  pen.beginPath();
  pen.arc(x + side - 4, y + 4, 1.8, 0, 7);
  pen.fill();
}

function cross(pen: CanvasRenderingContext2D, x: number, y: number, side: number, dark: boolean): void {
  pen.strokeStyle = dark ? "#ff938a" : "#b3261e";
  pen.beginPath();
  pen.moveTo(x + 1, y + 1);
  pen.lineTo(x + side - 1, y + side - 1);
  pen.moveTo(x + side - 1, y + 1);
  pen.lineTo(x + 1, y + side - 1);
  pen.stroke();
}
