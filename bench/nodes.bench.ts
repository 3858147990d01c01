/**
 * Nodes that are programs: the start of many virtual PCs by a fresh server, what a switch adds to a round trip between
 * two nodes, and what a frame between two nodes costs. Forwarders are compared with one in C.
 */
import type { Bench } from './measurement.js';
import { measureFrameCost } from './nodes/frame-cost.js';
import { measurePings, measureRoundTrips } from './nodes/round-trip.js';
import { measureStart } from './nodes/start.js';
import { PlainRelays } from './traffic/plain-relay.js';

const START = { pcs: 200, rounds: 5, idleMs: 10_000 };
const ROUND_TRIPS = { rounds: 9, trips: 1000 };
const PINGS = { rounds: 9, trips: 100 };
const FRAME_COST = { rounds: 5, seconds: 1 };

export const nodes: Bench = {
  name: 'nodes',
  async run() {
    const relays = new PlainRelays();
    try {
      return [
        ...(await measureStart(START)),
        ...(await measureRoundTrips(ROUND_TRIPS, relays)),
        ...(await measurePings(PINGS)),
        ...(await measureFrameCost(FRAME_COST, relays)),
      ];
    } finally {
      relays.remove();
    }
  },
};
