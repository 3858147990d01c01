/**
 * Namespaces of Linux, made with the functions of its C library. They belong to a thread; a process has those of the
 * thread that starts it. A thread that was in others always comes back to its own.
 */
import { closeSync, constants, fstatSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import koffi from 'koffi';

const library = koffi.load(null);

type Call<Args extends unknown[]> = (...args: Args) => number;

function declare<Args extends unknown[]>(prototype: string): Call<Args> {
  return library.func(prototype) as Call<Args>;
}

const unshare = declare<[flags: number]>('int unshare(int)');
const setns = declare<[fd: number, kind: number]>('int setns(int, int)');
const fchdir = declare<[fd: number]>('int fchdir(int)');
const mount = declare<
  [source: string, target: string, type: string | null, flags: number, data: string | null]
>('int mount(const char *, const char *, const char *, unsigned long, const char *)');
const socket = declare<[domain: number, type: number, protocol: number]>('int socket(int, int, int)');
const ioctl = declare<[fd: number, request: number, argument: Uint8Array]>(
  'int ioctl(int, unsigned long, uint8_t *)',
);

const setLimit = declare<[which: number, limit: BigUint64Array]>('int setrlimit(int, const uint64_t *)');

const RLIMIT_NPROC = 6;
const CLONE_FS = 0x200;
const CLONE_NEWNS = 0x0002_0000;
const CLONE_NEWNET = 0x4000_0000;
const O_PATH = 0o10000000;
const MS_RDONLY = 0x01;
const MS_NOSUID = 0x02;
const MS_NODEV = 0x04;
const MS_NOEXEC = 0x08;
const MS_REMOUNT = 0x20;
const MS_BIND = 0x1000;
const MS_REC = 0x4000;
const MS_SLAVE = 0x8_0000;
const AF_INET = 2;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;
const SIOCSIFFLAGS = 0x8914;
/** A request about an interface: its name in 16 bytes, then its flags. */
const INTERFACE_REQUEST = { length: 40, flags: 16 } as const;
const IFF_UP = 1;

/** How a program sees the folders of the host. All paths are real ones. */
export interface ProgramView {
  /** These look empty, but for what is visible. None lies in another. */
  readonly hidden: readonly string[];
  /** Files and folders that are seen in the hidden ones. `at` is the place, which may be another than the path. */
  readonly visible: readonly { readonly path: string; readonly at: string; readonly isWritable: boolean }[];
}

export class Namespaces {
  readonly #mounts = openSync('/proc/thread-self/ns/mnt', 'r');
  readonly #network = openSync('/proc/thread-self/ns/net', 'r');
  readonly #folder = openSync('.', constants.O_RDONLY | constants.O_DIRECTORY);

  constructor() {
    // A thread that shares its working folder with others may not change its mounts.
    check('no working folder of its own', unshare(CLONE_FS));
  }

  /** The thread keeps its namespaces; nothing more is done in others. */
  close(): void {
    for (const descriptor of [this.#mounts, this.#network, this.#folder]) closeSync(descriptor);
  }

  /**
   * Does `work` with the folders hidden, and in this network. `label` names the mounts: a process cannot change them.
   * Throws with a sentence for the user.
   */
  within<Result>(view: ProgramView, network: string, label: string, work: () => Result): Result {
    try {
      if (network !== '') enterNetwork(network);
      check('no mount namespace', unshare(CLONE_NEWNS));
      // The host's changes come here, too, and none go to the host.
      check('no mounts of its own', mount('none', '/', null, MS_REC | MS_SLAVE, null));
      hide(view, label);
      return work();
    } finally {
      this.#comeBack();
    }
  }

  /**
   * Does `work` in a new network that has loopback only, or in the one at this path. The network is there as long as its
   * descriptor or a socket.
   */
  inNetwork<Result>(
    path: string | undefined,
    work: () => Result,
  ): { readonly descriptor: number; readonly result: Result } {
    try {
      if (path === undefined) {
        check('no network namespace', unshare(CLONE_NEWNET));
        raiseLoopback();
      } else enterNetwork(path);
      const descriptor = openSync('/proc/thread-self/ns/net', 'r');
      try {
        return { descriptor, result: work() };
      } catch (error) {
        closeSync(descriptor);
        throw error;
      }
    } finally {
      this.#comeBack();
    }
  }

  #comeBack(): void {
    const isBack =
      setns(this.#network, CLONE_NEWNET) === 0 &&
      setns(this.#mounts, CLONE_NEWNS) === 0 &&
      fchdir(this.#folder) === 0;
    // All that this thread would do from now on would be done in the wrong place.
    if (!isBack) process.abort();
  }
}

/**
 * Limits the processes and threads of each user, in this process and in all that it starts. A lower limit that it has
 * already may stay.
 */
export function limitProcesses(most: number): void {
  setLimit(RLIMIT_NPROC, BigUint64Array.of(BigInt(most), BigInt(most)));
}

function enterNetwork(path: string): void {
  const fd = openSync(path, 'r');
  try {
    check('no way into the network', setns(fd, CLONE_NEWNET));
  } finally {
    closeSync(fd);
  }
}

function raiseLoopback(): void {
  const fd = socket(AF_INET, SOCK_DGRAM_CLOEXEC, 0);
  check('no socket', fd);
  try {
    const request = Buffer.alloc(INTERFACE_REQUEST.length);
    request.write('lo');
    request.writeUInt16LE(IFF_UP, INTERFACE_REQUEST.flags);
    check('no loopback', ioctl(fd, SIOCSIFFLAGS, request));
  } finally {
    closeSync(fd);
  }
}

function hide({ hidden, visible }: ProgramView, label: string): void {
  const kept: { readonly at: string; readonly isWritable: boolean; readonly fd: number }[] = [];
  try {
    for (const { path, at, isWritable } of visible) {
      const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
      kept.push({ at, isWritable, fd });
      if (fstatSync(fd).isSymbolicLink()) throw new Error(`${path} has become a link`);
    }
    for (const folder of hidden) {
      const flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
      check(`${folder} is not hidden`, mount(label, folder, 'tmpfs', flags, 'mode=755,size=1m,nr_inodes=4k'));
    }
    for (const { at, isWritable, fd } of kept) {
      makePlace(at, fstatSync(fd).isDirectory());
      check(`${at} is not visible`, mount(`/proc/self/fd/${fd}`, at, null, MS_BIND, null));
      const flags = MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV | (isWritable ? 0 : MS_RDONLY);
      check(`${at} is not protected`, mount('none', at, null, flags, null));
    }
  } finally {
    for (const { fd } of kept) closeSync(fd);
  }
}

/** Others can pass through the folders that are made, whatever the mask of this process. */
function makePlace(path: string, isFolder: boolean): void {
  const mask = process.umask(0o022);
  try {
    mkdirSync(isFolder ? path : dirname(path), { recursive: true });
    if (!isFolder) writeFileSync(path, '', { flag: 'a' });
  } finally {
    process.umask(mask);
  }
}

function check(what: string, result: number): void {
  if (result >= 0) return;
  const [code = '', text = ''] = getSystemErrorMap().get(-koffi.errno()) ?? [];
  throw new Error(`${what}: ${text} (${code})`);
}
