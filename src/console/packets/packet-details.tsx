/** One packet: its layers with their fields, and its octets. Each shows the other. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { PacketField, PacketLayer } from '../../dissection/packet-field.js';
import type { PacketClient } from '../state/packets.js';
import type { ChosenPacket } from './packet-list.js';
import type { PacketDetails as Details } from './packet-messages.js';
import { PACKET_TEXTS } from './texts.js';

const OCTETS_A_ROW = 16;
/** So many octets are in the document. */
const MOST_OCTETS = 2048;

interface Range {
  readonly at: number;
  readonly length: number;
}

interface PacketDetailsProps {
  readonly client: PacketClient;
  readonly chosen: ChosenPacket | undefined;
}

export function PacketDetails({ client, chosen }: PacketDetailsProps): JSX.Element {
  const details = useSignal<Details | 'gone' | undefined>(undefined);
  const marked = useSignal<Range>({ at: 0, length: 0 });
  const { number } = chosen ?? {};
  useEffect(() => {
    let isCurrent = true;
    if (number !== undefined)
      void client.details(number).then((answer) => {
        if (!isCurrent) return;
        details.value = answer.details ?? 'gone';
        marked.value = { at: 0, length: 0 };
      });
    return () => {
      isCurrent = false;
    };
  }, [number]);
  const mark = ({ at, length }: Range): void => {
    marked.value = { at, length };
  };
  const { value } = details;
  if (number === undefined || value === undefined) return <p class="notice">{PACKET_TEXTS.choose}</p>;
  if (value === 'gone') return <p class="notice">{PACKET_TEXTS.gone}</p>;
  const { layers, octets, original } = value;
  return (
    <section class="packet-details" aria-label={PACKET_TEXTS.details}>
      <div class="packet-fields" role="region" aria-label={PACKET_TEXTS.fields} tabIndex={0}>
        {octets.length < original && <p class="hint">{PACKET_TEXTS.cut(octets.length, original)}</p>}
        {layers.map((layer, index) => (
          <Layer key={`${number} ${index}`} layer={layer} marked={marked.value} onMark={mark} />
        ))}
      </div>
      <Octets octets={octets} marked={marked.value} onChoose={(at) => mark(smallest(layers, at))} />
    </section>
  );
}

/** The range of the smallest field that an octet is part of. */
function smallest(layers: readonly PacketLayer[], at: number): Range {
  const around = layers
    .flatMap<Range>((layer) => [layer, ...layer.fields])
    .filter((range) => range.at <= at && at < range.at + range.length)
    .sort((a, b) => a.length - b.length);
  return around[0] ?? { at, length: 1 };
}

interface LayerProps {
  readonly layer: PacketLayer;
  readonly marked: Range;
  readonly onMark: (range: Range) => void;
}

function Layer({ layer, marked, onMark }: LayerProps): JSX.Element {
  const { title, summary, fields } = layer;
  const isMarked = ({ at, length }: PacketField): boolean =>
    length > 0 && at === marked.at && length === marked.length;
  return (
    <details open>
      <summary onFocus={() => onMark(layer)} onMouseEnter={() => onMark(layer)}>
        <strong>{title}</strong> {summary}
      </summary>
      <ul>
        {fields.map((field, index) => (
          <li key={index}>
            <button
              type="button"
              class={`bare field ${isMarked(field) ? 'marked' : ''}`}
              onFocus={() => onMark(field)}
              onMouseEnter={() => onMark(field)}
              onClick={() => onMark(field)}
            >
              <span class="name">{field.name}</span> <span class="value">{field.text}</span>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface OctetsProps {
  readonly octets: Uint8Array;
  readonly marked: Range;
  readonly onChoose: (at: number) => void;
}

function Octets({ octets, marked, onChoose }: OctetsProps): JSX.Element {
  const shown = Math.min(octets.length, MOST_OCTETS);
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = panel;
    const mark = current?.querySelector('.marked')?.getBoundingClientRect();
    const frame = current?.getBoundingClientRect();
    if (current === null || mark === undefined || frame === undefined) return;
    // The page around it stays where it is.
    if (mark.top < frame.top) current.scrollTop -= frame.top - mark.top;
    if (mark.bottom > frame.bottom) current.scrollTop += mark.bottom - frame.bottom;
  }, [marked]);
  const starts = Array.from({ length: Math.ceil(shown / OCTETS_A_ROW) }, (_, row) => row * OCTETS_A_ROW);
  const onClick = ({ target }: MouseEvent): void => {
    if (!(target instanceof HTMLElement)) return;
    const at = Number(target.dataset['at'] ?? NaN);
    if (!Number.isNaN(at)) onChoose(at);
  };
  return (
    <div
      ref={panel}
      class="packet-octets mono"
      role="region"
      aria-label={PACKET_TEXTS.octets}
      tabIndex={0}
      onClick={onClick}
    >
      {starts.map((start) => (
        <OctetRow
          key={start}
          octets={octets}
          start={start}
          end={Math.min(shown, start + OCTETS_A_ROW)}
          marked={marked}
        />
      ))}
      {octets.length > shown && <p class="hint">{PACKET_TEXTS.more(octets.length - shown)}</p>}
    </div>
  );
}

interface OctetRowProps {
  readonly octets: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly marked: Range;
}

function OctetRow({ octets, start, end, marked }: OctetRowProps): JSX.Element {
  const row = Array.from(octets.subarray(start, end));
  const markOf = (at: number): string | undefined =>
    at >= marked.at && at < marked.at + marked.length ? 'marked' : undefined;
  return (
    <div class="octet-row">
      <span class="offset">{start.toString(16).padStart(4, '0')}</span>
      <span class="hex">
        {row.map((octet, index) => (
          <span key={index} data-at={start + index} class={markOf(start + index)}>
            {octet.toString(16).padStart(2, '0')}
          </span>
        ))}
      </span>
      <span class="characters" aria-hidden="true">
        {row.map((octet, index) => (
          <span key={index} data-at={start + index} class={markOf(start + index)}>
            {octet > 31 && octet < 127 ? String.fromCharCode(octet) : '.'}
          </span>
        ))}
      </span>
    </div>
  );
}
