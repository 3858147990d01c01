/** The links of one open project in numbers, for whoever scrapes them: five series a link, six when it leads to another host. */
import { COUNTER_NAMES, DROP_CAUSES } from '../base/memory/port-counters.js';
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { PortCounters } from '../engine/control/running-device.js';

/** The loop is given back after so many links. */
const LINKS_A_SLICE = 25;
const NOTHING = Object.fromEntries(COUNTER_NAMES.map((name) => [name, 0])) as PortCounters;

interface WireEnd {
  readonly node: { readonly device: { counters(port: number): PortCounters | undefined } };
  readonly port: number;
}

/** A connected link, as far as it is counted. */
interface CountedWire {
  readonly linkId: string;
  readonly near: WireEnd;
  /** Undefined when it is on another host. */
  readonly far: WireEnd | undefined;
  /** Whether the near end is the second one of the link. */
  readonly isReversed: boolean;
  /** Frames that were lost between two hosts; undefined for a link within this one. */
  readonly lost?: number;
}

/** A link between two other hosts: its counts by the columns of the traffic. */
interface LinkElsewhere {
  readonly linkId: string;
  readonly counts: readonly number[];
}

interface CountedLink {
  readonly link: string;
  readonly near: PortCounters;
  readonly far: PortCounters;
  readonly lost: number | undefined;
}

/** The ends of a link count from when it was connected. Forward is from the first node of the link to the second. */
export function* writeLinks(page: MetricPage, wires: Iterable<CountedWire | LinkElsewhere>): Iterable<void> {
  const links: CountedLink[] = [];
  for (const wire of [...wires]) {
    links.push('counts' in wire ? countedElsewhere(wire) : countedHere(wire));
    if (links.length % LINKS_A_SLICE === 0) yield;
  }
  for (const what of ['frames', 'octets'] as const) {
    page.counter(`link_${what}`, `The ${what} that the nodes of a link have sent into it`);
    for (const [index, { link, near, far }] of links.entries()) {
      page.sample(near[`${what}_out`], { link, direction: 'forward' });
      page.sample(far[`${what}_out`], { link, direction: 'backward' });
      if (index % LINKS_A_SLICE === 0) yield;
    }
  }
  page.counter('link_drops', 'Frames that both ends of a link have dropped, by filters, too');
  for (const [index, { link, near, far }] of links.entries()) {
    page.sample(dropsOf(near) + dropsOf(far), { link });
    if (index % LINKS_A_SLICE === 0) yield;
  }
  const across = links.filter(({ lost }) => lost !== undefined);
  if (across.length === 0) return;
  page.counter(
    'link_lost_between_hosts',
    'Frames that one host has sent into a link and the other has not received',
  );
  for (const [index, { link, lost = 0 }] of across.entries()) {
    page.sample(lost, { link });
    if (index % LINKS_A_SLICE === 0) yield;
  }
}

function countedHere({ linkId: link, near, far, isReversed, lost }: CountedWire): CountedLink {
  const its = countersOf(near);
  const others = far === undefined ? acrossFrom(its) : countersOf(far);
  return isReversed ? { link, lost, near: others, far: its } : { link, lost, near: its, far: others };
}

/** The drops of both ends stand with the first. */
function countedElsewhere({ linkId: link, counts }: LinkElsewhere): CountedLink {
  const [frames_out = 0, octets_out = 0, back = 0, backOctets = 0, filtered = 0, dropped = 0, lost = 0] =
    counts;
  return {
    ...{ link, lost },
    near: { ...NOTHING, frames_out, octets_out, filter_bpf: filtered, queue_full: dropped },
    far: { ...NOTHING, frames_out: back, octets_out: backOctets },
  };
}

function countersOf({ node, port }: WireEnd): PortCounters {
  return node.device.counters(port) ?? NOTHING;
}

/** The end on another host has sent what has come from there; what it drops is not known here. */
function acrossFrom({ frames_in, octets_in }: PortCounters): PortCounters {
  return { ...NOTHING, frames_out: frames_in, octets_out: octets_in };
}

function dropsOf(counters: PortCounters): number {
  return DROP_CAUSES.reduce((sum, cause) => sum + counters[cause], 0);
}
