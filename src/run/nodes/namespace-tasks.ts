/** Tasks of the thread that makes networks for programs, which takes it milliseconds on a busy host. */
import { closeSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { messageOf } from '../../base/errors/errors.js';
import type { TaskTable } from '../../base/threads/task.js';
import type { PortEndpoint } from '../../engine/forwarding/transport.js';
import { hostSockets } from '../../engine/sockets/host-sockets.js';
import { AF_INET, SOCK_FLAGS, SOCK_STREAM } from '../../engine/sockets/linux/constants.js';
import { libc } from '../../engine/sockets/linux/libc.js';
import { internetAddress } from '../../engine/sockets/linux/socket-address.js';
import { Namespaces } from '../keeper/namespaces.js';
import { LAST_PROGRAM_USER } from '../keeper/messages.js';
import type { AdapterWire } from '../links/udp-ports.js';

interface NewNetwork {
  /** It holds the network, and so do the sockets. */
  readonly descriptor: number;
  /** The engine's ends of the wires. */
  readonly endpoints: readonly PortEndpoint[];
}

export interface NamespaceTasks extends TaskTable {
  /** Why this server cannot confine programs, found by trying; undefined when it can. */
  readonly probeConfinement: (input: { readonly folder: string }) => string | undefined;
  /** A network with nothing but loopback, and the sockets of the engine in it. */
  readonly openNetwork: (input: {
    readonly wires: readonly AdapterWire[];
    /** The path of a network that is there, instead of a new one. */
    readonly path: string | undefined;
  }) => Promise<NewNetwork>;
  /** The descriptor of a connection to a TCP port of the network. It may not be there yet, and be refused later. */
  readonly connect: (input: { readonly path: string; readonly port: number }) => number;
  readonly closeNetwork: (input: { readonly descriptor: number }) => void;
}

const LOOPBACK = '127.0.0.1';

/** The numbers of the capabilities that confinement needs. */
const NEEDED = {
  CAP_CHOWN: 0,
  CAP_DAC_OVERRIDE: 1,
  CAP_FOWNER: 3,
  CAP_KILL: 5,
  CAP_SETGID: 6,
  CAP_SETUID: 7,
  CAP_SETPCAP: 8,
  CAP_NET_ADMIN: 12,
  CAP_SYS_PTRACE: 19,
  CAP_SYS_ADMIN: 21,
} as const;

/** The namespaces of this thread. */
let own: Namespaces | undefined;

export const namespaceTasks: NamespaceTasks = {
  probeConfinement({ folder }) {
    if (process.platform !== 'linux') return 'only Linux has what it needs';
    try {
      return lackingPrivilege() ?? tryNamespaces(folder);
    } catch (error) {
      return messageOf(error);
    }
  },

  async openNetwork({ wires, path }) {
    const { opener } = await hostSockets(process.platform);
    const opened: PortEndpoint[] = [];
    try {
      const { descriptor, result } = namespaces().inNetwork(path, () => {
        for (const { enginePort: localPort, programPort: remotePort } of wires) {
          const ends = { localHost: LOOPBACK, localPort, remoteHost: LOOPBACK, remotePort };
          opened.push(opener.open({ type: 'udp', ...ends }));
        }
        return opened;
      });
      return { descriptor, endpoints: result };
    } catch (error) {
      for (const endpoint of opened) opener.close(endpoint);
      throw error;
    }
  },

  connect({ path, port }) {
    const { descriptor, result } = namespaces().inNetwork(path, () =>
      libc.socket(AF_INET, SOCK_STREAM | SOCK_FLAGS, 0),
    );
    closeSync(descriptor);
    if (result < 0) throw new Error('no socket');
    const address = internetAddress(LOOPBACK, port);
    libc.connect(result, address, address.length);
    return result;
  },

  closeNetwork({ descriptor }) {
    closeSync(descriptor);
  },
};

function namespaces(): Namespaces {
  own ??= new Namespaces();
  return own;
}

function lackingPrivilege(): string | undefined {
  const [, digits = '0'] =
    /^CapEff:\s+([0-9a-f]+)/m.exec(readFileSync('/proc/thread-self/status', 'utf8')) ?? [];
  const has = BigInt(`0x${digits}`);
  for (const [name, number] of Object.entries(NEEDED)) {
    if ((has & (1n << BigInt(number))) === 0n) return `the server lacks the capability ${name}`;
  }
  for (const map of ['uid_map', 'gid_map']) {
    const ranges = readFileSync(`/proc/self/${map}`, 'utf8').trim().split('\n');
    const isThere = ranges.some((range) => {
      const [first = 0, , length = 0] = range.trim().split(/\s+/).map(Number);
      return first <= LAST_PROGRAM_USER && LAST_PROGRAM_USER < first + length;
    });
    if (!isThere) return 'the user namespace of the server has no numbers for more users';
  }
  return undefined;
}

function tryNamespaces(folder: string): string | undefined {
  const root = statSync('/');
  const view = { hidden: [folder], visible: [] };
  const tried = new Namespaces();
  try {
    const isHidden = tried.within(view, '', 'wirefarm', () => readdirSync(folder).length === 0);
    if (!isHidden) return `the folder ${folder} cannot be hidden`;
    closeSync(tried.inNetwork(undefined, () => undefined).descriptor);
  } finally {
    tried.close();
  }
  const now = statSync('/');
  return now.ino === root.ino && now.dev === root.dev
    ? undefined
    : 'the root of the server is not that of the host';
}
