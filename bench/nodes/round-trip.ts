/**
 * The time that a switch adds to a round trip between two program nodes, beside what a C forwarder adds between the same
 * two programs without a server. The ping of VPCS is recorded as well, but decides nothing: its threads sleep for
 * milliseconds between looks, so its times are several times what a switch adds, and vary by more. The programs whose
 * round trips are compared are sockets of one polling thread.
 */
import { call } from '../compute-client.js';
import { figure, median, type Figure } from '../measurement.js';
import { Forwarder, freePorts, roundTrip } from '../traffic/forwarder.js';
import type { ForwarderPath } from '../traffic/forwarder-path.js';
import type { PlainRelays } from '../traffic/plain-relay.js';
import { PcConsole } from './pc-console.js';
import { PcLab, type LabNode } from './pc-lab.js';

export interface RoundTripSize {
  readonly rounds: number;
  readonly trips: number;
}

type Ends = Pick<ForwarderPath, 'in' | 'out'>;

/** Two programs with nothing but sockets between them, or with a forwarder. */
interface Path {
  readonly near: ForwarderPath['in'];
  readonly far: ForwarderPath['in'];
  readonly forwarder?: Forwarder;
}

const PATHS = ['no server', 'link', 'switch', 'C forwarder'] as const;
type PathName = (typeof PATHS)[number];

const TRIPS_A_SECOND = 1000;
const PING_EVERY_MS = 10;

export async function measureRoundTrips(
  { rounds, trips }: RoundTripSize,
  relays: PlainRelays,
): Promise<Figure[]> {
  const [near = 0, far = 0] = await freePorts(2);
  const paths: Record<PathName, Path> = {
    'no server': { near: { local: near, remote: far }, far: { local: far, remote: near } },
    link: await through((ends) => nodePair(ends, 'link')),
    switch: await through((ends) => nodePair(ends, 'switch')),
    'C forwarder': await through((ends) => relays.start(ends)),
  };
  try {
    const taken: Record<PathName, number[]> = { 'no server': [], link: [], switch: [], 'C forwarder': [] };
    // The first round warms up.
    for (let round = 0; round <= rounds; round++) {
      for (const name of PATHS) {
        const time = await roundTrip({ ...paths[name], count: trips, perSecond: TRIPS_A_SECOND });
        if (round > 0) taken[name].push(time);
      }
    }
    const added = (with_: PathName, without: PathName): number =>
      median(taken[with_]) - median(taken[without]);
    const ofForwarder = added('C forwarder', 'no server');
    return [
      ...PATHS.map((name) => figure(`round trip, ${name}`, 'µs', taken[name])),
      figure('round trip, added by the C forwarder', 'µs', [ofForwarder]),
      figure('round trip, added by a switch to a link', 'µs', [added('switch', 'link')]),
      figure(
        'round trip, added by a switch, ratio to the C forwarder',
        '',
        [added('switch', 'link') / ofForwarder],
        'at most 1.2',
      ),
      figure('round trip, added by nodes, links and switch, ratio to the C forwarder', '', [
        added('switch', 'no server') / ofForwarder,
      ]),
    ];
  } finally {
    for (const { forwarder } of Object.values(paths)) await forwarder?.stop();
  }
}

async function through(start: (ends: Ends) => Promise<Forwarder>): Promise<Path> {
  const [near = 0, nearPeer = 0, far = 0, farPeer = 0] = await freePorts(4);
  const forwarder = await start({
    in: { local: nearPeer, remote: near },
    out: { local: farPeer, remote: far },
  });
  return { near: { local: near, remote: nearPeer }, far: { local: far, remote: farPeer }, forwarder };
}

export function nodePair(ends: Ends, between: 'link' | 'switch'): Promise<Forwarder> {
  return Forwarder.start('node-pair', { ...ends, kind: 'ethernet_switch', gathers: true, between });
}

/** The median of what ping says, in microseconds, with a link and with a switch in turn. */
export async function measurePings({ rounds, trips }: RoundTripSize): Promise<Figure[]> {
  const lab = await PcLab.start();
  try {
    const [first, second] = [await newPc(lab, 1), await newPc(lab, 2)];
    const between = await lab.newNode('ethernet_switch', 'SW');
    await call(`${lab.url}/nodes/start`, 'POST', {});
    const terminal = await PcConsole.open(first.console);
    const ping = async (): Promise<number> => medianTime(await terminal.run(pings(trips)));
    const taken: Record<'link' | 'switch', number[]> = { link: [], switch: [] };
    for (let round = 0; round <= rounds; round++) {
      for (const name of ['link', 'switch'] as const) {
        const links =
          name === 'link'
            ? [await lab.link([first, 0], [second, 0])]
            : [await lab.link([first, 0], [between, 0]), await lab.link([between, 1], [second, 0])];
        const time = await ping();
        if (round > 0) taken[name].push(time);
        for (const link of links) await call(link, 'DELETE');
      }
    }
    terminal.close();
    return [
      figure('ping of a virtual PC, link', 'µs', taken.link),
      figure('ping of a virtual PC, switch', 'µs', taken.switch),
    ];
  } finally {
    await lab.end();
  }
}

function newPc(lab: PcLab, number: number): Promise<LabNode> {
  const script = `set pcname PC${number}\nip ${address(number)}/24\n`;
  return lab.newNode('vpcs', `PC${number}`, { startup_script: script });
}

function address(number: number): string {
  return `10.0.0.${number}`;
}

function pings(count: number): string {
  return `ping ${address(2)} -c ${count} -i ${PING_EVERY_MS}`;
}

function medianTime(printed: string): number {
  const times = [...printed.matchAll(/ time=([\d.]+) ms/g)].map(([, time]) => Number(time) * 1000);
  if (times.length === 0) throw new Error(`ping printed ${printed}`);
  return median(times);
}
