/** The ports of clouds of GNS3 1, whose names said where they lead. Pure. */
import type { ConvertedPort, FirstPort } from './first-ports.js';

interface ConvertedCloud {
  readonly properties: object;
  readonly ports: readonly ConvertedPort[];
}

/**
 * Undefined when all ports lead out by address translation: then the node is a NAT node. Ports to what clouds no longer
 * have (VDE, Unix sockets, multicast, none) are left out with their links.
 */
export function convertedCloud(old: readonly FirstPort[]): ConvertedCloud | undefined {
  if (old.length > 0 && old.every(({ name }) => name.startsWith('nio_nat'))) return undefined;
  const kept = old.flatMap(({ id, name }) => {
    const port = portOf(name);
    return port === undefined ? [] : [{ id, port }];
  });
  let tunnels = 0;
  return {
    properties: {
      interfaces: [],
      ports_mapping: kept.map(({ port }, index) => ({
        ...('interface' in port ? { name: port.interface } : { name: `UDP tunnel ${++tunnels}` }),
        ...port,
        port_number: index,
      })),
    },
    ports: kept.map(({ id }, index) => ({ id, adapter: 0, port: index })),
  };
}

/** From `nio_gen_eth:eth0`, `nio_tap:tap0` or `nio_udp:lport:rhost:rport`. */
function portOf(
  name: string,
):
  | { type: string; interface: string }
  | { type: 'udp'; lport: number; rhost: string; rport: number }
  | undefined {
  const udp = /^nio_udp:(\d{1,5}):([^:]{1,255}):(\d{1,5})$/.exec(name);
  if (udp !== null) return { type: 'udp', lport: Number(udp[1]), rhost: udp[2] ?? '', rport: Number(udp[3]) };
  const [, kind, interfaceName] = /^nio_(gen_eth|gen_linux|tap):(.{1,255})$/.exec(name) ?? [];
  if (interfaceName === undefined) return undefined;
  return { type: kind === 'tap' ? 'tap' : 'ethernet', interface: interfaceName };
}
