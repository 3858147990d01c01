/** The descriptors of this process: how many it may have, and the remote addresses of its TCP connections. */
import koffi from 'koffi';

const isMac = process.platform === 'darwin';
const RLIMIT_NOFILE = isMac ? 8 : 7;
const SOL_SOCKET = isMac ? 0xffff : 1;
const SO_TYPE = isMac ? 0x1008 : 3;
const SOCK_STREAM = 1;
const AF_INET = 2;
/** The family takes two bytes on Linux, of which the second is 0; on macOS a length byte comes before it. */
const FAMILY_AT = isMac ? 1 : 0;
const STANDARD_ERROR = 2;
/** The scan stops at this descriptor, because it would take too long. */
const MOST_SCANNED = 65_536;

/** Start and end of the address in an IPv4 and in an IPv6 socket address. */
const ADDRESS_IN_4 = [4, 8] as const;
const ADDRESS_IN_6 = [8, 24] as const;

type Call<Args extends unknown[]> = (...args: Args) => number;

export class Descriptors {
  readonly #dup: Call<[fd: number]>;
  readonly #close: Call<[fd: number]>;
  readonly #getpeername: Call<[fd: number, address: Uint8Array, length: Uint32Array]>;
  readonly #getsockopt: Call<
    [fd: number, level: number, name: number, value: Uint8Array, length: Uint32Array]
  >;
  /** The limit on open descriptors. Node.js has raised it at start as far as the host allows. */
  readonly most: number;

  constructor() {
    const library = koffi.load(null);
    this.#dup = library.func('int dup(int)');
    this.#close = library.func('int close(int)');
    this.#getpeername = library.func('int getpeername(int, uint8_t *, uint32_t *)');
    this.#getsockopt = library.func('int getsockopt(int, int, int, uint8_t *, uint32_t *)');
    const getrlimit = library.func('int getrlimit(int, uint8_t *)') as Call<
      [which: number, limit: Uint8Array]
    >;
    const limit = Buffer.alloc(16);
    this.most = getrlimit(RLIMIT_NOFILE, limit) === 0 ? Number(limit.readBigUInt64LE()) : 0;
  }

  /** The lowest free descriptor; all below are in use. Infinity when none is left. */
  lowestFree(): number {
    const descriptor = this.#dup(STANDARD_ERROR);
    if (descriptor < 0) return Infinity;
    this.#close(descriptor);
    return descriptor;
  }

  /** The number of TCP connections to each remote address; the key is the address in hexadecimal digits. */
  connections(): Map<string, number> {
    const counts = new Map<string, number>();
    const [address, length] = [Buffer.alloc(128), new Uint32Array(1)];
    const [type, typeLength] = [Buffer.alloc(4), new Uint32Array(1)];
    const most = Math.min(this.most, MOST_SCANNED);
    for (let descriptor = 0; descriptor < most; descriptor++) {
      length[0] = address.length;
      if (this.#getpeername(descriptor, address, length) !== 0) continue;
      typeLength[0] = type.length;
      this.#getsockopt(descriptor, SOL_SOCKET, SO_TYPE, type, typeLength);
      if (type.readInt32LE() !== SOCK_STREAM) continue;
      const [start, end] = address[FAMILY_AT] === AF_INET ? ADDRESS_IN_4 : ADDRESS_IN_6;
      const key = address.toString('hex', start, end);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  }
}
