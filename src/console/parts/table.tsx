/** A table of any length: filtered, sorted and selected in the page; only rows that are seen are in the document. */
import { useComputed, useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { TEXTS } from '../texts.js';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Rows are sorted by it. */
  readonly order: (row: Row) => string | number;
  readonly isNumber?: boolean;
  /** Narrow windows do without it. */
  readonly isSecondary?: boolean;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly filterLabel: string;
  readonly rows: ReadonlySignal<readonly Row[]>;
  readonly columns: readonly Column<Row>[];
  readonly idOf: (row: Row) => string;
  readonly nameOf: (row: Row) => string;
  /** The words that the filter looks at. */
  readonly textOf: (row: Row) => string;
  /** The ids of the selected rows; without it nothing can be selected. */
  readonly selected?: Signal<ReadonlySet<string>>;
  /** Buttons beside the filter. */
  readonly children?: ComponentChildren;
}

/** As in the style sheet. */
const ROW_HEIGHT = 40;
const ROWS_BEYOND = 8;

export function Table<Row>(props: TableProps<Row>): JSX.Element {
  const { label, filterLabel, rows, columns, idOf, textOf, selected, children } = props;
  const filter = useSignal('');
  const sorting = useSignal({ column: 0, isDescending: false });
  const seen = useSignal({ top: 0, height: 800 });
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useComputed(() => {
    const words = filter.value.toLowerCase().split(/\s+/);
    const fitting = rows.value.filter((row) => {
      const text = textOf(row).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const { column, isDescending } = sorting.value;
    const order = columns[column]?.order ?? idOf;
    return fitting.sort((a, b) => (isDescending ? -1 : 1) * compare(order(a), order(b)));
  });
  useEffect(() => {
    const { current } = scroller;
    if (current === null) return undefined;
    const look = (): void => {
      seen.value = { top: current.scrollTop, height: current.clientHeight };
    };
    const observer = new ResizeObserver(look);
    observer.observe(current);
    current.addEventListener('scroll', look, { passive: true });
    return () => {
      observer.disconnect();
      current.removeEventListener('scroll', look);
    };
  }, []);
  const { value: list } = shown;
  const first = Math.max(0, Math.floor(seen.value.top / ROW_HEIGHT) - ROWS_BEYOND);
  const end = Math.min(
    list.length,
    Math.ceil((seen.value.top + seen.value.height) / ROW_HEIGHT) + ROWS_BEYOND,
  );
  const width = columns.length + (selected === undefined ? 0 : 1);
  const allSelected = list.length > 0 && list.every((row) => selected?.value.has(idOf(row)) === true);
  return (
    <>
      <div class="bar">
        <input
          type="search"
          aria-label={filterLabel}
          placeholder={filterLabel}
          value={filter}
          onInput={({ currentTarget }) => {
            filter.value = currentTarget.value;
            scroller.current?.scrollTo({ top: 0 });
          }}
        />
        <span class="count" role="status">
          {TEXTS.table.shown(list.length, rows.value.length)}
        </span>
        {children}
      </div>
      <div ref={scroller} class="scroller" tabIndex={0} role="region" aria-label={label}>
        <table aria-label={label} aria-rowcount={list.length + 1}>
          <thead>
            <tr aria-rowindex={1}>
              {selected !== undefined && (
                <th class="check" scope="col">
                  <input
                    type="checkbox"
                    aria-label={TEXTS.table.selectAll}
                    checked={allSelected}
                    onChange={() => {
                      selected.value = new Set(allSelected ? [] : list.map(idOf));
                    }}
                  />
                </th>
              )}
              {columns.map((column, index) => (
                <Head
                  key={column.title}
                  column={column}
                  isSorted={sorting.value.column === index}
                  isDescending={sorting.value.isDescending}
                  onSort={() => {
                    const { column: former, isDescending } = sorting.value;
                    sorting.value = { column: index, isDescending: former === index && !isDescending };
                  }}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            <Gap rows={first} width={width} />
            {list.slice(first, end).map((row, index) => (
              <TableRow key={idOf(row)} table={props} row={row} index={first + index + 2} />
            ))}
            <Gap rows={list.length - end} width={width} />
          </tbody>
        </table>
        {list.length === 0 && rows.value.length > 0 && <p class="notice">{TEXTS.table.nothingFits}</p>}
      </div>
    </>
  );
}

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly isSorted: boolean;
  readonly isDescending: boolean;
  readonly onSort: () => void;
}

function Head<Row>({ column, isSorted, isDescending, onSort }: HeadProps<Row>): JSX.Element {
  const direction = isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={classOf(column)} aria-sort={isSorted ? direction : undefined}>
      <button type="button" class="bare" onClick={onSort}>
        {column.title}
        <span aria-hidden="true">{isSorted ? (isDescending ? ' ▾' : ' ▴') : ''}</span>
      </button>
    </th>
  );
}

interface TableRowProps<Row> {
  readonly table: TableProps<Row>;
  readonly row: Row;
  readonly index: number;
}

function TableRow<Row>({ table, row, index }: TableRowProps<Row>): JSX.Element {
  const { columns, idOf, nameOf, selected } = table;
  const id = idOf(row);
  const isSelected = selected?.value.has(id) === true;
  return (
    <tr aria-rowindex={index} class={isSelected ? 'selected' : undefined}>
      {selected !== undefined && (
        <td class="check">
          <input
            type="checkbox"
            aria-label={TEXTS.table.select(nameOf(row))}
            checked={isSelected}
            onChange={({ currentTarget: { checked } }) => {
              const wanted = new Set(selected.value);
              if (checked) wanted.add(id);
              else wanted.delete(id);
              selected.value = wanted;
            }}
          />
        </td>
      )}
      {columns.map((column) => (
        <td key={column.title} class={classOf(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

/** Stands for rows that are not in the document. */
function Gap({ rows, width }: { readonly rows: number; readonly width: number }): JSX.Element | null {
  if (rows <= 0) return null;
  return (
    <tr class="gap" aria-hidden="true">
      <td colSpan={width} style={{ height: `${rows * ROW_HEIGHT}px` }} />
    </tr>
  );
}

function classOf<Row>({ isNumber, isSecondary }: Column<Row>): string {
  return [isNumber === true ? 'number' : '', isSecondary === true ? 'wide' : ''].join(' ').trim();
}

const byName = new Intl.Collator(undefined, { numeric: true });

function compare(a: string | number, b: string | number): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : byName.compare(String(a), String(b));
}
