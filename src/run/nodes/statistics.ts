/** The statistics of a node, as clients read them. */
import { z } from 'zod';
import type { PortCounters, RunningDevice } from '../../engine/control/running-device.js';
import { connectionsOf } from '../../lab/kinds/mapped-connections.js';
import type { Properties, SwitchKind } from '../../lab/kinds/node-kind.js';
import { COUNTER_NAMES, DROP_CAUSES, type CounterName } from '../../base/memory/port-counters.js';

const PASSED = COUNTER_NAMES.filter((name) => !DROP_CAUSES.includes(name));

const count = z.int().min(0);
const counts = (names: readonly CounterName[]): Record<string, typeof count> =>
  Object.fromEntries(names.map((name) => [name, count]));

const port = z.strictObject({
  adapter_number: z.int(),
  counters: z.strictObject({
    ...counts(PASSED),
    /** Dropped frames by cause. */
    drops: z.strictObject(counts(DROP_CAUSES)),
    /** Frames that the kernel dropped because the socket's buffer was full. */
    socket_full: count,
  }),
  port_number: z.int(),
});

/** One direction of a mapping. The ends are written as in the mapping. */
const connection = z.strictObject({
  cells: count.optional(),
  frames: count.optional(),
  from: z.string(),
  to: z.string(),
});

export const statistics = z.strictObject({
  /** Only kinds with mappings have connections. */
  connections: z.array(connection).optional(),
  ports: z.array(port),
});

export type NodeStatistics = z.infer<typeof statistics>;
export type ShownCounters = z.infer<typeof port>['counters'];
export type ConnectionStatistics = z.infer<typeof connection>;

export function shownCounters(counters: PortCounters, socketFull: number): ShownCounters {
  return { ...only(PASSED, counters), drops: only(DROP_CAUSES, counters), socket_full: socketFull };
}

/** Returns undefined for a kind without connections. */
export function connectionStatistics(
  { connectionUnit }: Pick<SwitchKind, 'connectionUnit'>,
  properties: Properties,
  { connections }: RunningDevice,
): ConnectionStatistics[] | undefined {
  if (connectionUnit === undefined) return undefined;
  return connectionsOf(properties).map(({ name, from, to }) => {
    return { [connectionUnit]: connections.read(name), from, to };
  });
}

function only(names: readonly CounterName[], counters: PortCounters): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, counters[name]]));
}
