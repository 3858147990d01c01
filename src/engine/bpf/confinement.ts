/**
 * The limits of the process in which libpcap runs. Linux ends it when it has computed for too long, and denies it
 * sockets, so that names are looked up only in the files of this host, never on a network.
 */
import koffi from 'koffi';

/** The CPU time for one expression. */
const BUDGET_MS = 500;

/** This timer counts the CPU time of all threads; its signal ends the process. */
const ITIMER_PROF = 2;
const TIMER = koffi.struct({
  everySeconds: 'long',
  everyMicroseconds: 'long',
  seconds: 'long',
  microseconds: 'long',
});

const PR_SET_SECCOMP = 22;
const PR_SET_NO_NEW_PRIVS = 38;
const SECCOMP_MODE_FILTER = 2;
/** The number of the system call `socket`. */
const SOCKET: Readonly<Partial<Record<NodeJS.Architecture, number>>> = { x64: 41, arm64: 198 };
const NOT_PERMITTED = 1;
const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const FAIL = 0x00050000;
const INSTRUCTION_BYTES = 8;
const FILTER = koffi.struct({ length: 'uint16_t', instructions: 'uint8_t *' });

type Call = (...given: unknown[]) => number;

/** Runs the work; the process ends when that takes more than the budget. */
export function withinBudget<Result>(work: () => Result): Result {
  if (process.platform !== 'linux') return work();
  const setTimer = koffi.load(null).func('setitimer', 'int', ['int', koffi.pointer(TIMER), 'void *']) as Call;
  const set = (milliseconds: number): void => {
    const microseconds = milliseconds * 1000;
    setTimer(ITIMER_PROF, { everySeconds: 0, everyMicroseconds: 0, seconds: 0, microseconds }, null);
  };
  set(BUDGET_MS);
  try {
    return work();
  } finally {
    set(0);
  }
}

/** Forbids this thread to open sockets from now on. Returns whether the system supports that. */
export function forbidSockets(): boolean {
  const number = SOCKET[process.arch];
  if (process.platform !== 'linux' || number === undefined) return false;
  const self = koffi.load(null);
  const prctl = self.func('prctl', 'int', [
    'int',
    'unsigned long',
    'unsigned long',
    'unsigned long',
    'unsigned long',
  ]) as Call;
  const setFilter = self.func('prctl', 'int', [
    'int',
    'unsigned long',
    'void *',
    'unsigned long',
    'unsigned long',
  ]) as Call;
  const instructions = Buffer.concat([
    instruction(LOAD_WORD, 0, 0, 0),
    instruction(JUMP_EQUAL, 0, 1, number),
    instruction(RETURN, 0, 0, FAIL | NOT_PERMITTED),
    instruction(RETURN, 0, 0, ALLOW),
  ]);
  const filter: unknown = koffi.alloc(FILTER, 1);
  koffi.encode(filter, FILTER, { length: instructions.length / INSTRUCTION_BYTES, instructions });
  return (
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) === 0 &&
    setFilter(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0) === 0
  );
}

function instruction(code: number, jumpTrue: number, jumpFalse: number, k: number): Buffer {
  const bytes = Buffer.alloc(INSTRUCTION_BYTES);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(jumpTrue, 2);
  bytes.writeUInt8(jumpFalse, 3);
  bytes.writeUInt32LE(k >>> 0, 4);
  return bytes;
}
