/** The libpcap of this host as a second opinion: what it says of a packet. */
import koffi from 'koffi';
import { LIBRARY_NAMES, Libpcap } from '../../src/engine/bpf/libpcap.js';

/** Names the package of what is missing; false when nothing is. */
export function libpcapLack(): string | false {
  return Libpcap.find() === undefined
    ? 'the library libpcap is missing: install the package libpcap0.8'
    : false;
}

export type Judge = (expression: string, linkType: number) => Verdicts;
export interface Verdicts {
  readonly matches: (packet: Uint8Array) => boolean;
  readonly close: () => void;
}

const SNAPLEN = 262_144;
const PROGRAM = koffi.struct({ count: 'uint32_t', instructions: 'void *' });
const HEADER = koffi.struct({
  seconds: 'long',
  microseconds: 'long',
  captured: 'uint32_t',
  length: 'uint32_t',
});

/** Compiles by itself, and runs with libpcap's own interpreter. */
export function newJudge(): Judge {
  const library = firstLibrary();
  const openDead = library.func('pcap_open_dead', 'uintptr_t', ['int', 'int']);
  const compile = library.func('pcap_compile', 'int', [
    ...['uintptr_t', koffi.out(koffi.pointer(PROGRAM)), 'const char *', 'int', 'uint32_t'],
  ]);
  const freeCode = library.func('pcap_freecode', 'void', [koffi.inout(koffi.pointer(PROGRAM))]);
  const close = library.func('pcap_close', 'void', ['uintptr_t']);
  const filter = library.func('pcap_offline_filter', 'int', [
    ...[koffi.pointer(PROGRAM), koffi.pointer(HEADER), 'const uint8_t *'],
  ]);
  return (expression, linkType) => {
    const handle = openDead(linkType, SNAPLEN) as number;
    const program = {};
    if (compile(handle, program, expression, 0, 0xffffffff) !== 0) throw new Error(`refused: ${expression}`);
    return {
      matches(packet) {
        const header = { seconds: 0, microseconds: 0, captured: packet.length, length: packet.length };
        return filter(program, header, packet) !== 0;
      },
      close() {
        freeCode(program);
        close(handle);
      },
    };
  };
}

function firstLibrary(): ReturnType<typeof koffi.load> {
  for (const name of LIBRARY_NAMES) {
    try {
      return koffi.load(name);
    } catch {
      // The next, then.
    }
  }
  throw new Error('there is no libpcap');
}
