/** The socket at which systemd hears of the services that it has started (its protocol sd_notify). */
import { setTimeout as sleep } from 'node:timers/promises';
import koffi from 'koffi';

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** The family, the path, and the NUL after it. */
const LONGEST_ADDRESS = 110;
/** When systemd is behind, it has so long to make room for a message. */
const TRIES = 100;
const BETWEEN_MS = 50;

type NewSocket = (domain: number, type: number, protocol: number) => number;
type SendTo = (
  fd: number,
  bytes: Uint8Array,
  length: number,
  flags: number,
  address: Uint8Array,
  addressLength: number,
) => number;

export class NotifySocket {
  readonly #fd: number;
  readonly #sendTo: SendTo;
  readonly #address: Uint8Array;

  /** `name` is a path, or `@` and the name of an abstract socket; undefined for any other and where there are no sockets. */
  static open(name: string): NotifySocket | undefined {
    const address = addressOf(name);
    if (address === undefined || process.platform !== 'linux') return undefined;
    const library = koffi.load(null);
    const newSocket = library.func('int socket(int, int, int)') as NewSocket;
    const sendTo = library.func(
      'int64_t sendto(int, const uint8_t *, size_t, int, const uint8_t *, uint32_t)',
    ) as SendTo;
    const fd = newSocket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? undefined : new NotifySocket(fd, sendTo, address);
  }

  private constructor(fd: number, sendTo: SendTo, address: Uint8Array) {
    this.#fd = fd;
    this.#sendTo = sendTo;
    this.#address = address;
  }

  /** Resolves when the message is on its way, or when there was no room for it for a while. */
  async deliver(lines: readonly string[]): Promise<void> {
    for (let tries = 0; tries < TRIES && !this.send(lines); tries++)
      await sleep(BETWEEN_MS, undefined, { ref: false });
  }

  /** Returns whether the message is on its way: systemd may have no room for it now. */
  send(lines: readonly string[]): boolean {
    const bytes = Buffer.from(lines.join('\n'));
    const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const sent = this.#sendTo(this.#fd, bytes, bytes.length, flags, this.#address, this.#address.length);
    return sent === bytes.length;
  }
}

function addressOf(name: string): Uint8Array | undefined {
  if (!/^[/@]./.test(name)) return undefined;
  const isAbstract = name.startsWith('@');
  // The length of the address ends an abstract name, and a NUL a path.
  const path = Buffer.from(isAbstract ? `\0${name.slice(1)}` : `${name}\0`);
  const address = Buffer.alloc(2 + path.length);
  address.writeUInt16LE(AF_UNIX, 0);
  path.copy(address, 2);
  return address.length <= LONGEST_ADDRESS ? address : undefined;
}
