/** A forwarder with a generator at both of its ends, and one sample of what it does. */
import { Forwarder, freePorts, offer, type Program } from './forwarder.js';
import type { ForwarderPath } from './forwarder-path.js';
import type { Load, LoadResult } from './load.js';

const FRAME_HEADER = '02000000000202000000000188b5';

export interface Traffic {
  readonly name: string;
  readonly kind: ForwarderPath['kind'];
  readonly frame: Pick<Load, 'size' | 'sendHeader' | 'expectHeader'>;
}

/** Cells of 1/100, which become 2/200. */
export const ATM: Traffic = {
  name: 'ATM',
  kind: 'atm_switch',
  frame: { size: 53, sendHeader: '001006404e', expectHeader: '00200c8063' },
};

export function ethernet(size: number): Traffic {
  return {
    name: `Ethernet ${size} octets`,
    kind: 'ethernet_switch',
    frame: { size, sendHeader: FRAME_HEADER, expectHeader: FRAME_HEADER },
  };
}

export interface Setting {
  readonly forwarder: Forwarder;
  readonly load: Omit<Load, 'rate' | 'seconds' | 'segments' | 'cpu'>;
}

export interface Sample {
  readonly result: LoadResult;
  readonly cpuPerMillion: number;
}

export async function setUp(program: Program, { kind, frame }: Traffic): Promise<Setting> {
  const [near = 0, nearPeer = 0, far = 0, farPeer = 0] = await freePorts(4);
  const forwarder = await Forwarder.start(program, {
    kind,
    in: { local: near, remote: nearPeer },
    out: { local: far, remote: farPeer },
    gathers: false,
  });
  return {
    forwarder,
    load: { ...frame, localPort: nearPeer, toPort: near, receivePort: farPeer, gathers: false },
  };
}

export async function sample(
  { forwarder, load }: Setting,
  rate: number,
  seconds: number,
  segments: number,
): Promise<Sample> {
  const before = forwarder.cpuSeconds();
  const result = await offer({ ...load, rate, seconds, segments });
  return { result, cpuPerMillion: ((forwarder.cpuSeconds() - before) / result.received) * 1e6 };
}
