/**
 * Compiles BPF expressions with the libpcap of this host. The cost of a call grows with the third power of the number of
 * terms, so it belongs into a process that can be ended when it takes too long (compiler-process.ts).
 */
import koffi from 'koffi';
import { refusals } from '../../base/errors/errors.js';
import { BPF, MOST_INSTRUCTIONS } from '../wire/bpf-instruction.js';

/** The names on Debian and Ubuntu, on other Linux, with the development files, and on macOS. */
export const LIBRARY_NAMES: readonly string[] = [
  'libpcap.so.0.8',
  'libpcap.so.1',
  'libpcap.so',
  'libpcap.A.dylib',
];

const LONGEST_EXPRESSION = 4096;
const SHOWN_OF_TOO_LONG = 60;
const OPTIMIZE = 1;
/** PCAP_NETMASK_UNKNOWN */
const NO_NETMASK = 0xffffffff;
/** From this offset on, the Linux kernel reads properties of the interface instead of the packet. */
const FIRST_ANCILLARY = 0xfffff000;
const LOADS: readonly number[] = [BPF.loadWord, BPF.loadHalf, BPF.loadByte];

const INSTRUCTION = koffi.struct({
  code: 'uint16_t',
  jumpTrue: 'uint8_t',
  jumpFalse: 'uint8_t',
  k: 'uint32_t',
});
const PROGRAM = koffi.struct({ count: 'uint32_t', instructions: 'void *' });
const HANDLE = 'uintptr_t';

interface RawInstruction {
  readonly code: number;
  readonly jumpTrue: number;
  readonly jumpFalse: number;
  readonly k: number;
}

interface RawProgram {
  readonly count?: number;
  readonly instructions?: unknown;
}

/** The types of the functions, which koffi does not derive from the prototypes. */
interface Calls {
  readonly openDead: (linkType: number, snaplen: number) => number;
  readonly compile: (
    handle: number,
    program: RawProgram,
    expression: string,
    optimize: number,
    netmask: number,
  ) => number;
  readonly errorOf: (handle: number) => string;
  readonly freeCode: (program: RawProgram) => void;
  readonly close: (handle: number) => void;
}

export class Libpcap {
  readonly #calls: Calls;

  private constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Loads the first library that exists; undefined when none does. */
  static find(names: readonly string[] = LIBRARY_NAMES): Libpcap | undefined {
    for (const name of names) {
      try {
        return new Libpcap(load(name));
      } catch {
        // It does not exist, or is another library of that name.
      }
    }
    return undefined;
  }

  /** Returns four numbers per instruction; see BpfProgram. A bad expression is refused with the message of libpcap. */
  compile(expression: string, linkType: number, snaplen: number): Uint32Array {
    checkText(expression);
    const handle = this.#calls.openDead(linkType, snaplen);
    if (handle === 0) throw new Error('libpcap could not be opened: it has no memory left');
    try {
      const program: RawProgram = {};
      if (this.#calls.compile(handle, program, expression, OPTIMIZE, NO_NETMASK) !== 0) {
        throw refusals.bpfRefused(expression, shortReason(this.#calls.errorOf(handle)));
      }
      try {
        return numbersOf(program, expression);
      } finally {
        this.#calls.freeCode(program);
      }
    } finally {
      this.#calls.close(handle);
    }
  }
}

function load(name: string): Calls {
  const library = koffi.load(name);
  const toProgram = koffi.pointer(PROGRAM);
  return {
    openDead: library.func('pcap_open_dead', HANDLE, ['int', 'int']) as Calls['openDead'],
    compile: library.func('pcap_compile', 'int', [
      ...[HANDLE, koffi.out(toProgram), 'const char *', 'int', 'uint32_t'],
    ]) as Calls['compile'],
    errorOf: library.func('pcap_geterr', 'const char *', [HANDLE]) as Calls['errorOf'],
    freeCode: library.func('pcap_freecode', 'void', [koffi.inout(toProgram)]) as Calls['freeCode'],
    close: library.func('pcap_close', 'void', [HANDLE]) as Calls['close'],
  };
}

function checkText(expression: string): void {
  if (expression.length > LONGEST_EXPRESSION) {
    const shown = `${expression.slice(0, SHOWN_OF_TOO_LONG)}…`;
    throw refusals.bpfRefused(shown, `it is longer than ${LONGEST_EXPRESSION} characters`);
  }
  // In C, the text would end there.
  if (expression.includes('\0')) {
    throw refusals.bpfRefused(expression.replaceAll('\0', '\\0'), 'it has a NUL character');
  }
}

function numbersOf({ count = 0, instructions }: RawProgram, expression: string): Uint32Array {
  const list = koffi.decode(instructions, INSTRUCTION, count) as readonly RawInstruction[];
  const reason = reasonNotToRun(list);
  if (reason !== undefined) throw refusals.bpfRefused(expression, reason);
  return Uint32Array.from(list.flatMap(({ code, jumpTrue, jumpFalse, k }) => [code, jumpTrue, jumpFalse, k]));
}

/** The reason why a program cannot be run here: libpcap compiles more than that. */
function reasonNotToRun(list: readonly RawInstruction[]): string | undefined {
  if (list.length > MOST_INSTRUCTIONS) {
    return `it makes ${list.length} instructions, at most ${MOST_INSTRUCTIONS} are run: make it simpler`;
  }
  if (list.some(({ code, k }) => LOADS.includes(code) && k >= FIRST_ANCILLARY)) {
    return (
      "'inbound', 'outbound' and 'ifindex' are known of the interfaces of a host, not of a link: " +
      'leave them out and choose a direction'
    );
  }
  if (list.some(({ code, k }) => code === BPF.jump && k > MOST_INSTRUCTIONS)) {
    return "'protochain' makes a loop, which is not run here: use 'proto'";
  }
  return undefined;
}

/** The message without its introduction, which the refusal has itself. */
function shortReason(message: string): string {
  const reason = message.replace(/^can't parse filter expression: /, '');
  const isName = /^unknown (?:host|network)/.test(reason);
  return isName
    ? `${reason}: names are looked up in the files of this server only, give the address`
    : reason;
}
