// A table that draws the rows in view only, so 100,000 rows cost as much as 50.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  /** Pixels that the column takes at least; what is left over goes to the columns that grow. */
  readonly width: number;
  readonly grows?: boolean;
  readonly right?: boolean;
  readonly sorts?: boolean;
  readonly cell: (row: T) => ComponentChildren;
}

export interface Order {
  readonly key: string;
  readonly down: boolean;
}

interface TableProps<T> {
  readonly name: string;
  readonly columns: readonly Column<T>[];
  readonly rows: number;
  /** Return a row; undefined: it is not known yet. */
  readonly row: (index: number) => T | undefined;
  readonly rowKey: (row: T) => string;
  readonly order?: Order | undefined;
  readonly onOrder?: (order: Order) => void;
  readonly onView?: (first: number, end: number) => void;
  readonly marked?: (row: T) => boolean;
  readonly height?: number;
  readonly empty?: string;
}

const USUAL_HEIGHT = 30;
const SPARE = 8;

/** Return the first row to draw and the one behind the last. */
export function inView(top: number, view: number, height: number, rows: number): readonly [number, number] {
  const first = Math.max(0, Math.floor(top / height) - SPARE);
  return [Math.min(first, rows), Math.min(rows, Math.ceil((top + view) / height) + SPARE)];
}

export function Table<T>(props: TableProps<T>) {
  const height = props.height ?? USUAL_HEIGHT;
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, view: 600 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => setSeen({ top: element.scrollTop, view: element.clientHeight });
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    measure();
    return () => watcher.disconnect();
  }, []);
  const [first, end] = inView(seen.top, seen.view, height, props.rows);
  const { onView } = props;
  useEffect(() => onView?.(first, end), [first, end, onView]);
  const scrolled = (): void => {
    const element = box.current;
    if (element) setSeen({ top: element.scrollTop, view: element.clientHeight });
  };
  const width = props.columns.reduce((sum, each) => sum + each.width, 0);
  return (
    <div class="scroll" ref={box} onScroll={scrolled} tabIndex={0} role="region" aria-label={props.name}>
      <table class="grid" aria-rowcount={props.rows + 1} style={{ minWidth: `${width}px` }}>
        <colgroup>
          {props.columns.map((each) => (
            <col key={each.key} style={each.grows ? {} : { width: `${each.width}px` }} />
          ))}
        </colgroup>
        <Head columns={props.columns} order={props.order} onOrder={props.onOrder} />
        <tbody>
          <Gap height={first * height} columns={props.columns.length} />
          {Array.from({ length: end - first }, (_, at) => (
            <Row key={first + at} index={first + at} height={height} table={props} />
          ))}
          <Gap height={(props.rows - end) * height} columns={props.columns.length} />
        </tbody>
      </table>
      {props.rows === 0 && <p class="empty">{props.empty ?? "Nothing to show."}</p>}
    </div>
  );
}

interface RowProps<T> {
  readonly index: number;
  readonly height: number;
  readonly table: TableProps<T>;
}

function Row<T>({ index, height, table }: RowProps<T>) {
  const row = table.row(index);
  const marked = row !== undefined && table.marked?.(row);
  return (
    <tr
      aria-rowindex={index + 2}
      class={marked ? "marked" : ""}
      data-key={row === undefined ? "" : table.rowKey(row)}
      style={{ height: `${height}px` }}
    >
      {row === undefined ? (
        <td class="coming" colSpan={table.columns.length}>…</td>
      ) : (
        table.columns.map((each) => (
          <td key={each.key} class={each.right ? "right" : ""}>{each.cell(row)}</td>
        ))
      )}
    </tr>
  );
}

function Gap({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height <= 0) return null;
  return (
    <tr class="gap" aria-hidden="true" style={{ height: `${height}px` }}>
      <td colSpan={columns} />
    </tr>
  );
}

interface HeadProps<T> {
  readonly columns: readonly Column<T>[];
  readonly order?: Order | undefined;
  readonly onOrder?: ((order: Order) => void) | undefined;
}

function Head<T>({ columns, order, onOrder }: HeadProps<T>) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map((each) => {
          const here = order?.key === each.key;
          const sort = here ? (order.down ? "descending" : "ascending") : "none";
          const sorts = each.sorts && onOrder;
          return (
            <th key={each.key} scope="col" class={each.right ? "right" : ""} aria-sort={sorts ? sort : undefined}>
              {sorts ? (
                <button
                  type="button"
                  onClick={() => onOrder({ key: each.key, down: here ? !order.down : Boolean(each.right) })}
                >
                  {each.title} <span aria-hidden="true">{here ? (order.down ? "▾" : "▴") : ""}</span>
                </button>
              ) : (
                each.title
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
