/** The far end of a Unix datagram link. Node.js has none, so it is one of the C library's. */
import koffi from 'koffi';
import { AF_UNIX, MSG_DONTWAIT, SOCK_DGRAM, SOCK_FLAGS } from '../../src/engine/sockets/linux/constants.js';
import { libc } from '../../src/engine/sockets/linux/libc.js';
import { NativeMemory } from '../../src/engine/sockets/linux/native-memory.js';
import { unixAddress } from '../../src/engine/sockets/linux/socket-address.js';
import type { Teardown } from './scratch.js';

const LARGEST = 128 * 1024;

type Receive = (fd: number, buffer: number, length: number, flags: number) => number;
const recv = koffi.load(null).func('int64_t recv(int, uintptr_t, size_t, int)') as Receive;

export class UnixPeer {
  readonly #descriptor: number;
  readonly #memory = new NativeMemory(LARGEST);

  constructor(t: Teardown, file: string) {
    this.#descriptor = libc.socket(AF_UNIX, SOCK_DGRAM | SOCK_FLAGS, 0);
    t.teardown(() => {
      libc.close(this.#descriptor);
    });
    this.#name(libc.bind, file);
  }

  connect(file: string): void {
    this.#name(libc.connect, file);
  }

  send(frame: Uint8Array): void {
    this.#memory.bytes.set(frame);
    const sent = libc.send(this.#descriptor, this.#memory.address, frame.length, MSG_DONTWAIT);
    if (sent !== frame.length) throw new Error(`send: error ${koffi.errno()}`);
  }

  /** Undefined when nothing waits. */
  receive(): Buffer | undefined {
    const length = recv(this.#descriptor, this.#memory.address, LARGEST, MSG_DONTWAIT);
    return length < 0 ? undefined : Buffer.from(this.#memory.bytes.slice(0, length));
  }

  #name(call: typeof libc.bind, file: string): void {
    const address = unixAddress(file);
    if (address === undefined || call(this.#descriptor, address, address.length) !== 0) {
      throw new Error(`${file}: error ${koffi.errno()}`);
    }
  }
}
