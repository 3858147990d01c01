/** The list of packets: as many rows in the document as are seen, however many there are. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { PacketClient } from '../state/packets.js';
import type { PacketRow } from './packet-messages.js';
import { PACKET_TEXTS } from './texts.js';

const { columns: titles, ways, wayNames } = PACKET_TEXTS;

/** As in the style sheet. */
const ROW_HEIGHT = 24;
/** Browsers know no higher elements than about 17 million pixels: with more rows, a step of the bar is several rows. */
const TALLEST = 8_000_000;

export interface ChosenPacket {
  readonly place: number;
  readonly number: number;
}

interface PacketListProps {
  readonly client: PacketClient;
  readonly chosen: Signal<ChosenPacket | undefined>;
  /** The place of the first row; undefined while the list is at its end and stays there. */
  readonly top: Signal<number | undefined>;
}

export function PacketList({ client, chosen, top }: PacketListProps): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const expected = useRef(0);
  const height = useSignal(0);
  const { first = 0, end = 0, rows = [] } = client.state.value ?? {};
  const fitting = Math.max(1, Math.floor((height.value - ROW_HEIGHT) / ROW_HEIGHT));
  const last = Math.max(first, end - fitting);
  const start = Math.min(last, Math.max(first, top.value ?? last));
  const scale = Math.max(1, ((end - first) * ROW_HEIGHT) / TALLEST);

  useLayoutEffect(() => client.look(top.value, fitting), [top.value, fitting]);

  useEffect(() => {
    const { current } = scroller;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() => (height.value = current.clientHeight));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const { current } = scroller;
    if (current === null) return;
    const wish = top.value === undefined ? current.scrollHeight : ((start - first) * ROW_HEIGHT) / scale;
    if (Math.abs(current.scrollTop - wish) > 1) current.scrollTop = wish;
    expected.current = current.scrollTop;
  });

  const onScroll = (): void => {
    const { current } = scroller;
    if (current === null || Math.abs(current.scrollTop - expected.current) < 2) return;
    expected.current = current.scrollTop;
    const isAtEnd = current.scrollTop + current.clientHeight >= current.scrollHeight - 2;
    top.value = isAtEnd ? undefined : first + Math.round((current.scrollTop * scale) / ROW_HEIGHT);
  };

  const choose = async (place: number): Promise<void> => {
    const aim = Math.min(end - 1, Math.max(first, place));
    if (aim < start) top.value = aim;
    else if (aim >= start + fitting) top.value = aim - fitting + 1;
    else top.value ??= start;
    const [row] = (await client.rows(aim, 1)).rows;
    if (row !== undefined) chosen.value = { place: row.place, number: row.number };
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const from = chosen.value?.place;
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: from === undefined ? start : from + 1,
      ArrowUp: from === undefined ? end - 1 : from - 1,
      PageDown: (from ?? start) + fitting,
      PageUp: (from ?? start) - fitting,
      Home: first,
      End: end - 1,
    };
    const aim = steps[event.key];
    if (aim === undefined || event.ctrlKey || event.altKey || event.metaKey || end === first) return;
    event.preventDefault();
    void choose(aim);
  };

  const active = rows.find(({ number }) => number === chosen.value?.number);
  return (
    <div
      ref={scroller}
      class="scroller packet-list"
      role="grid"
      aria-label={PACKET_TEXTS.list}
      aria-rowcount={end - first + 1}
      aria-activedescendant={active === undefined ? undefined : `packet-${active.number}`}
      tabIndex={0}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div role="rowgroup" class="packet-head">
        <div role="row" class="packet-row" aria-rowindex={1}>
          {Object.entries(titles).map(([name, title]) => (
            <span key={name} role="columnheader" class={name}>
              {title}
            </span>
          ))}
        </div>
      </div>
      {end === first && (
        <div role="row">
          <p role="gridcell" class="notice">
            {(client.state.value?.held ?? 0) > 0 ? PACKET_TEXTS.nothingFits : PACKET_TEXTS.none}
          </p>
        </div>
      )}
      <div
        role="rowgroup"
        class="packet-space"
        style={{ height: `${Math.min(TALLEST, (end - first) * ROW_HEIGHT)}px` }}
      >
        <div role="presentation" class="packet-view">
          {rows.map((row) => (
            <Row
              key={row.number}
              row={row}
              index={row.place - first + 2}
              isChosen={row.number === chosen.value?.number}
              onChoose={() => void choose(row.place)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface RowProps {
  readonly row: PacketRow;
  readonly index: number;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function Row({ row, index, isChosen, onChoose }: RowProps): JSX.Element {
  const { number, time, link, way, source, destination, protocol, length, info } = row;
  const cells: Readonly<Record<keyof typeof titles, string | number>> = {
    ...{ number, time, link, way: ways[way], source, destination, protocol, length, info },
  };
  return (
    <div
      role="row"
      id={`packet-${number}`}
      class={`packet-row ${isChosen ? 'chosen' : ''}`}
      aria-rowindex={index}
      aria-selected={isChosen}
      onClick={onChoose}
    >
      {Object.entries(cells).map(([name, text]) => (
        <span key={name} role="gridcell" class={name} aria-label={name === 'way' ? wayNames[way] : undefined}>
          {text}
        </span>
      ))}
    </div>
  );
}
