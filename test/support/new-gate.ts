import { BlockList } from 'node:net';
import type { Identification } from '../../src/http/caller.js';
import { Gate, type GateOptions } from '../../src/http/gate.js';
import { GuessBrake } from '../../src/http/guess-brake.js';
import { Unlimited } from '../../src/lab/access/principal.js';

const everybody = new Unlimited('everybody', undefined, () => true);
const IDENTIFICATION: Identification = {
  everybody,
  identify: () => everybody,
  ofSession: () => undefined,
  ofPass: () => everybody,
  withSession: () => undefined,
  catchUp: () => undefined,
  checkHeard: () => undefined,
};

/** The gate of a server on loopback without accounts, as far as nothing else is said. */
export function newGate(
  options: Partial<GateOptions> = {},
  identification: Identification = IDENTIFICATION,
): Gate {
  const brake = new GuessBrake({ log: { warn: () => undefined }, now: () => performance.now() });
  return new Gate(
    {
      ...{ host: '127.0.0.1', allowedHosts: [], allowedOrigins: [] },
      ...{ publicUrl: undefined, trustedProxies: new BlockList() },
      ...options,
    },
    identification,
    brake,
  );
}
