import { BlockList } from 'node:net';
import { Gate, type GateOptions } from '../../src/http/gate.js';
import { GuessBrake } from '../../src/http/guess-brake.js';

/** The gate of a server on loopback without a password, as far as nothing else is said. */
export function newGate(options: Partial<GateOptions> = {}): Gate {
  const brake = new GuessBrake({ log: { warn: () => undefined }, now: () => performance.now() });
  return new Gate(
    {
      ...{ host: '127.0.0.1', allowedHosts: [], allowedOrigins: [], credentials: undefined },
      ...{ publicUrl: undefined, trustedProxies: new BlockList() },
      ...options,
    },
    brake,
  );
}
