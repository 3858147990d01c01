/** The packet filters of a link: the types that clients are offered, and the checks of what they send. */
import { refusals } from '../../base/errors/errors.js';

interface FilterParameter {
  readonly name: string;
  readonly type: 'int' | 'text';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly unit?: string;
}

export interface FilterType {
  readonly type: string;
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly FilterParameter[];
}

/** Names, texts and limits are the contract's (A1.6). */
const GNS3_FILTERS: readonly FilterType[] = [
  {
    description:
      'It will drop everything with a -1 frequency, drop every Nth packet with a positive frequency, or drop nothing',
    name: 'Frequency drop',
    parameters: [{ maximum: 32_767, minimum: -1, name: 'Frequency', type: 'int', unit: 'th packet' }],
    type: 'frequency_drop',
  },
  {
    description: 'The percentage represents the chance for a packet to be lost',
    name: 'Packet loss',
    parameters: [{ maximum: 100, minimum: 0, name: 'Chance', type: 'int', unit: '%' }],
    type: 'packet_loss',
  },
  {
    description: 'Delay packets in milliseconds. You can add jitter in milliseconds (+/-) of the delay',
    name: 'Delay',
    parameters: [
      { maximum: 32_767, minimum: 0, name: 'Latency', type: 'int', unit: 'ms' },
      { maximum: 32_767, minimum: 0, name: 'Jitter (-/+)', type: 'int', unit: 'ms' },
    ],
    type: 'delay',
  },
  {
    description: 'The percentage represents the chance for a packet to be corrupted',
    name: 'Corrupt',
    parameters: [{ maximum: 100, minimum: 0, name: 'Chance', type: 'int', unit: '%' }],
    type: 'corrupt',
  },
  {
    description: 'This filter will drop any packet matching a BPF expression. Put one expression per line',
    name: 'Berkeley Packet Filter (BPF)',
    parameters: [{ name: 'Filters', type: 'text' }],
    type: 'bpf',
  },
];

const OWN_FILTERS: readonly FilterType[] = [
  {
    description:
      'Packets are sent one after the other as on a line of this rate, and dropped when they would wait longer than ' +
      'the queue limit. A queue limit of 0 is 500 ms',
    name: 'Rate',
    parameters: [
      { maximum: 100_000_000, minimum: 0, name: 'Rate', type: 'int', unit: 'kbit/s' },
      { maximum: 32_767, minimum: 0, name: 'Queue limit', type: 'int', unit: 'ms' },
    ],
    type: 'rate',
  },
  {
    description: 'The percentage represents the chance for a packet to be sent twice',
    name: 'Duplicate',
    parameters: [{ maximum: 100, minimum: 0, name: 'Chance', type: 'int', unit: '%' }],
    type: 'duplicate',
  },
  {
    description:
      'The percentage represents the chance for a packet to be held, so that those behind overtake it. ' +
      'A hold of 0 is 10 ms',
    name: 'Reorder',
    parameters: [
      { maximum: 100, minimum: 0, name: 'Chance', type: 'int', unit: '%' },
      { maximum: 32_767, minimum: 0, name: 'Hold', type: 'int', unit: 'ms' },
    ],
    type: 'reorder',
  },
];

/** Clients build their dialogs from these. Keys are sorted, as in everything that is answered. */
export const FILTER_TYPES: readonly FilterType[] = [...GNS3_FILTERS, ...OWN_FILTERS];

/** The longest text of BPF expressions that libpcap accepts. */
const LONGEST_TEXT = 4096;
/** The reference takes numbers as text, too. */
const DECIMAL = /^\s*-?\d{1,9}\s*$/;

/** Filters by type, with checked values. Filters without effect are left out. */
export type AcceptedFilters = Readonly<Record<string, readonly (number | string)[]>>;

/**
 * The packet filters of a link that count in one direction only, and their seed. They are a record of their own, because
 * the object of the link and its place in the topology file are the contract's.
 */
export interface DirectedFilters {
  readonly link_id: string;
  /** From the first end of the link to the second. A filter that is named here counts instead of the link's own. */
  readonly forward: AcceptedFilters;
  readonly backward: AcceptedFilters;
  /** With a seed, the same frames meet the same fate every time. */
  readonly seed: number | null;
}

export function undirected(linkId: string): DirectedFilters {
  return { backward: {}, forward: {}, link_id: linkId, seed: null };
}

export interface DirectedRequest {
  readonly forward?: Readonly<Record<string, unknown>> | undefined;
  readonly backward?: Readonly<Record<string, unknown>> | undefined;
  readonly seed?: number | null | undefined;
}

/** Checks filters that a client sent, and leaves out those that do nothing: clients reset filters by sending zeros. */
export function acceptFilters(given: Readonly<Record<string, unknown>>): AcceptedFilters {
  const accepted: [string, (number | string)[]][] = [];
  for (const [type, values] of Object.entries(given)) {
    const filter = FILTER_TYPES.find((known) => known.type === type);
    if (filter === undefined)
      throw refuse(type, `is none of ${FILTER_TYPES.map((known) => known.type).join(', ')}`);
    if (!Array.isArray(values)) throw refuse(type, 'must be an array');
    if (values.length > filter.parameters.length) {
      throw refuse(type, `takes at most ${filter.parameters.length} parameters`);
    }
    const checked = filter.parameters
      .slice(0, values.length)
      .map((parameter, index) => checkedValue(type, parameter, (values as unknown[])[index]));
    if (hasEffect(type, checked)) accepted.push([type, checked]);
  }
  return Object.fromEntries(accepted);
}

/**
 * The filters of a link after a change, which replaces all of them. A request with every filter of GNS3 and no other comes
 * from a dialog that can show no other: our own filters stay.
 */
export function changedFilters(
  before: { readonly filters?: object | undefined },
  given: Readonly<Record<string, unknown>>,
): AcceptedFilters {
  const accepted = acceptFilters(given);
  const isGns3Dialog =
    GNS3_FILTERS.every(({ type }) => type in given) && !OWN_FILTERS.some(({ type }) => type in given);
  if (!isGns3Dialog) return accepted;
  const kept = Object.entries(storedFilters(before)).filter(([name]) =>
    OWN_FILTERS.some(({ type }) => type === name),
  );
  return { ...accepted, ...Object.fromEntries(kept) };
}

/** The stored filters that would be accepted today: they may come from another server, or be older than these checks. */
export function storedFilters({ filters }: { readonly filters?: object | undefined }): AcceptedFilters {
  const understood = Object.entries(filters ?? {}).map(([type, values]: [string, unknown]) => {
    try {
      return acceptFilters({ [type]: values });
    } catch {
      return {};
    }
  });
  return Object.assign({}, ...understood) as AcceptedFilters;
}

/** Jitter works without latency; every other filter is off when its first value is zero or empty. */
function hasEffect(type: string, values: readonly (number | string)[]): boolean {
  const telling = type === 'delay' ? values : values.slice(0, 1);
  return telling.some((value) => value !== 0 && value !== '');
}

function checkedValue(type: string, parameter: FilterParameter, value: unknown): number | string {
  if (parameter.type === 'text') {
    if (typeof value !== 'string') throw refuse(type, `${parameter.name} must be a string`);
    if (value.length > LONGEST_TEXT)
      throw refuse(type, `${parameter.name} is longer than ${LONGEST_TEXT} characters`);
    return value.trim();
  }
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number))
    throw refuse(type, `${parameter.name} must be a number`);
  const whole = Math.trunc(number);
  const { minimum = 0, maximum = 0 } = parameter;
  if (whole < minimum || whole > maximum) {
    throw refuse(type, `${parameter.name} must lie between ${minimum} and ${maximum}`);
  }
  return whole;
}

function refuse(type: string, reason: string): Error {
  return refusals.schemaViolated('in filters', `${type}: ${reason}`);
}
