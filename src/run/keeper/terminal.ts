/** Terminals of Linux, made with the functions of its C library. */
import { closeSync, constants, openSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import koffi from 'koffi';

const library = koffi.load(null);

type Call<Args extends unknown[]> = (...args: Args) => number;

function declare<Args extends unknown[]>(prototype: string): Call<Args> {
  return library.func(prototype) as Call<Args>;
}

const openMaster = declare<[flags: number]>('int posix_openpt(int)');
const grant = declare<[master: number]>('int grantpt(int)');
const unlock = declare<[master: number]>('int unlockpt(int)');
const nameOf = declare<[master: number, name: Uint8Array, length: number]>(
  'int ptsname_r(int, uint8_t *, size_t)',
);
const ioctl = declare<[fd: number, request: number, argument: Uint16Array]>(
  'int ioctl(int, unsigned long, uint16_t *)',
);

const { O_RDWR, O_NOCTTY, O_NONBLOCK } = constants;
const O_CLOEXEC = 0o2000000;
const TIOCSWINSZ = 0x5414;
const LONGEST_NAME = 64;
/** Until a client says how large its window is. */
const COLUMNS = 80;
const ROWS = 24;

export interface PseudoTerminal {
  /** Does not block; an error EIO is its end. */
  readonly master: number;
  /** The program's side, which the keeper closes when the program has it. */
  readonly slave: number;
  /** The path of the program's side. */
  readonly name: string;
}

/** Throws when the host gives no terminal. Nobody's controlling terminal changes. */
export function openTerminal(): PseudoTerminal {
  const master = check('posix_openpt', openMaster(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  try {
    check('grantpt', grant(master));
    check('unlockpt', unlock(master));
    const bytes = new Uint8Array(LONGEST_NAME);
    const failure = nameOf(master, bytes, bytes.length);
    if (failure !== 0) throw failed('ptsname_r', failure);
    const name = Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString();
    setSize(master, COLUMNS, ROWS);
    return { master, name, slave: openSync(name, O_RDWR | O_NOCTTY) };
  } catch (error) {
    closeSync(master);
    throw error;
  }
}

export function setSize(master: number, columns: number, rows: number): void {
  ioctl(master, TIOCSWINSZ, Uint16Array.of(rows, columns, 0, 0));
}

function check(name: string, result: number): number {
  if (result < 0) throw failed(name, koffi.errno());
  return result;
}

function failed(name: string, errno: number): Error {
  const [code = '', text = ''] = getSystemErrorMap().get(-errno) ?? [];
  return new Error(`${name}: ${code} ${text}`);
}
