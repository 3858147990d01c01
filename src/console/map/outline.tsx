/** The outline: a tree grid of nodes and links, beside the map and as able as the map. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Eye } from './map-canvas.js';
import type { LabMap } from './lab-map.js';
import { outlineRows, stateOf, type OutlineRow } from './outline-rows.js';
import { MAP_TEXTS } from './texts.js';

interface OutlineProps {
  readonly lab: LabMap;
  readonly eye: Eye;
  readonly onOpened: () => void;
}

/** As in the style sheet. */
const ROW_HEIGHT = 30;
const ROWS_BEYOND = 6;

export function Outline({ lab, eye, onOpened }: OutlineProps): JSX.Element {
  const words = useSignal('');
  const unfolded = useSignal<ReadonlySet<string>>(new Set());
  const active = useSignal('');
  const seen = useSignal({ top: 0, height: 600 });
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useComputed(() => {
    void lab.revision.value;
    return outlineRows(lab.scene, unfolded.value, words.value);
  });
  const { value: list } = rows;
  void lab.rateRevision.value;
  const current = placeOf(list, active.value);

  useEffect(() => {
    const { current: element } = scroller;
    if (element === null) return undefined;
    const look = (): void => {
      seen.value = { top: element.scrollTop, height: element.clientHeight };
    };
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  // The outline follows what is chosen on the map.
  const focused = lab.focused.value;
  useEffect(() => {
    const index = rows.value.findIndex(({ id }) => id === focused);
    if (index === -1 || rows.value[current]?.id === focused) return;
    active.value = rows.value[index]?.key ?? '';
    show(scroller.current, index);
  }, [focused]);

  const goTo = (index: number, chooses: 'one' | 'adds'): void => {
    // A key may come before what the key before has changed is painted.
    const now = rows.value;
    const row = now[Math.min(now.length - 1, Math.max(0, index))];
    if (row === undefined) return;
    active.value = row.key;
    if (chooses === 'one') lab.select([row.id]);
    else lab.select([...lab.selected.value, row.id]);
    if (row.level === 1) eye.reveal(row.id);
    show(scroller.current, now.indexOf(row));
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>('[role=row][tabindex="0"]')?.focus();
    });
  };
  const fold = (row: OutlineRow, isUnfolded: boolean): void => {
    const next = new Set(unfolded.value);
    if (isUnfolded) next.add(row.id);
    else next.delete(row.id);
    unfolded.value = next;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const now = rows.value;
    const at = placeOf(now, active.value);
    const row = now[at];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const chooses = event.shiftKey ? 'adds' : 'one';
    const actions: Readonly<Record<string, () => void>> = {
      ArrowDown: () => goTo(at + 1, chooses),
      ArrowUp: () => goTo(at - 1, chooses),
      Home: () => goTo(0, chooses),
      End: () => goTo(now.length - 1, chooses),
      PageDown: () => goTo(at + 15, chooses),
      PageUp: () => goTo(at - 15, chooses),
      ArrowRight: () => fold(row, true),
      ArrowLeft: () =>
        row.level === 2
          ? goTo(
              now.findLastIndex(({ level }, index) => level === 1 && index < at),
              'one',
            )
          : fold(row, false),
      ' ': () => lab.toggle(row.id),
      Enter: () => {
        if (!lab.selected.value.has(row.id)) lab.select([row.id]);
        onOpened();
      },
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const first = Math.max(0, Math.floor(seen.value.top / ROW_HEIGHT) - ROWS_BEYOND);
  const end = Math.min(
    list.length,
    Math.ceil((seen.value.top + seen.value.height) / ROW_HEIGHT) + ROWS_BEYOND,
  );
  return (
    <section class="outline" aria-label={MAP_TEXTS.outline}>
      <input
        type="search"
        aria-label={MAP_TEXTS.find}
        placeholder={MAP_TEXTS.find}
        value={words}
        onInput={({ currentTarget }) => (words.value = currentTarget.value)}
      />
      <div ref={scroller} class="outline-rows">
        <div
          role="treegrid"
          aria-label={MAP_TEXTS.outline}
          aria-multiselectable="true"
          aria-rowcount={list.length}
          style={{ height: `${list.length * ROW_HEIGHT}px` }}
          onKeyDown={onKeyDown}
        >
          {list.slice(first, end).map((row, offset) => (
            <Row
              key={row.key}
              lab={lab}
              row={row}
              place={first + offset}
              isActive={first + offset === current}
              onFold={() => fold(row, row.isUnfolded !== true)}
              onFocus={() => (active.value = row.key)}
              onChoose={(adds) => {
                if (adds) lab.toggle(row.id);
                active.value = row.key;
                if (!adds) goTo(first + offset, 'one');
              }}
            />
          ))}
        </div>
      </div>
    </section>
  );
}

interface RowProps {
  readonly lab: LabMap;
  readonly row: OutlineRow;
  readonly place: number;
  readonly isActive: boolean;
  readonly onFold: () => void;
  readonly onFocus: () => void;
  readonly onChoose: (adds: boolean) => void;
}

function Row({ lab, row, place, isActive, onFold, onFocus, onChoose }: RowProps): JSX.Element {
  const isSelected = lab.selected.value.has(row.id);
  return (
    <div
      role="row"
      class={`outline-row level-${row.level}`}
      tabIndex={isActive ? 0 : -1}
      aria-level={row.level}
      aria-rowindex={place + 1}
      aria-selected={isSelected}
      aria-expanded={row.isUnfolded}
      style={{ top: `${place * ROW_HEIGHT}px` }}
      onFocus={onFocus}
      onClick={({ ctrlKey, metaKey }) => onChoose(ctrlKey || metaKey)}
    >
      <span role="gridcell" class="outline-name">
        {row.isUnfolded !== undefined && (
          <span class="fold" aria-hidden="true" onClick={(event) => fold(event, onFold)}>
            {row.isUnfolded ? '▾' : '▸'}
          </span>
        )}
        {row.name}
      </span>
      <span role="gridcell" class="outline-state">
        {stateOf(lab.scene, row, MAP_TEXTS.statuses)}
      </span>
    </div>
  );
}

function placeOf(rows: readonly OutlineRow[], key: string): number {
  return Math.max(
    0,
    rows.findIndex((row) => row.key === key),
  );
}

function fold(event: Event, onFold: () => void): void {
  event.stopPropagation();
  onFold();
}

function show(scroller: HTMLElement | null, index: number): void {
  if (scroller === null) return;
  const top = index * ROW_HEIGHT;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + ROW_HEIGHT > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = top + ROW_HEIGHT - scroller.clientHeight;
}
