/** Checks of the kernel and of what it lets this user have. Features are tried, not guessed. Runs in a worker thread. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import koffi from 'koffi';
import {
  AF_INET,
  SOCK_DGRAM,
  SOCK_FLAGS,
  SOL_UDP,
  UDP_GRO,
  UDP_SEGMENT,
} from '../../engine/sockets/linux/constants.js';
import { hostSockets } from '../../engine/sockets/host-sockets.js';
import { libc } from '../../engine/sockets/linux/libc.js';
import { RECEIVE_BUFFER } from '../../engine/sockets/opener.js';
import type { Diagnosis } from './diagnosis.js';

const CACHESTAT = 451;
const FEWEST_DESCRIPTORS = 4096;
const WANTED_DESCRIPTORS = 65_536;
const WANTED_PIDS = 65_536;
const CLOCK = '/sys/devices/system/clocksource/clocksource0';
/** Reading one of these takes microseconds, and leaves the process. */
const SLOW_CLOCKS = ['hpet', 'acpi_pm', 'jiffies', 'pit'];
const STEAL_SPAN_MS = 300;
const MOST_STOLEN = 0.05;
const MOST_SWAPPED = 0.5;

export async function checkKernel(): Promise<Diagnosis[]> {
  const before = processorTimes();
  const checks = [
    checkSegments(),
    checkCachestat(),
    await checkBuffers(),
    checkDescriptors(),
    checkPids(),
    checkClock(),
    checkSwap(),
  ];
  await sleep(STEAL_SPAN_MS);
  return [...checks, checkSteal(before, processorTimes())];
}

function checkSegments(): Diagnosis {
  const id = 'kernel.udp';
  const descriptor = libc.socket(AF_INET, SOCK_DGRAM | SOCK_FLAGS, 0);
  const value = Buffer.alloc(4);
  const lacking = [['UDP_SEGMENT', UDP_SEGMENT, 0] as const, ['UDP_GRO', UDP_GRO, 1] as const].filter(
    ([, option, wanted]) => {
      value.writeInt32LE(wanted);
      return libc.setsockopt(descriptor, SOL_UDP, option, value, value.length) !== 0;
    },
  );
  libc.close(descriptor);
  if (lacking.length === 0) return { id, level: 'ok', found: 'UDP_SEGMENT and UDP_GRO work' };
  return {
    id,
    level: 'warning',
    found: `this kernel refuses ${lacking.map(([name]) => name).join(' and ')}`,
    means: 'links to other hosts and programs carry one frame per system call, a third of the usual rate',
    repair: 'install a kernel of 5.0 or later',
  };
}

function checkCachestat(): Diagnosis {
  const id = 'kernel.cachestat';
  const call = koffi
    .load(null)
    .func('int64_t syscall(int64_t, int64_t, const uint8_t *, uint8_t *, int64_t)') as (
    number: number,
    fd: number,
    range: Uint8Array,
    found: Uint8Array,
    flags: number,
  ) => number;
  const file = openSync(process.execPath, 'r');
  const works = call(CACHESTAT, file, Buffer.alloc(16), Buffer.alloc(40), 0) === 0;
  closeSync(file);
  return works
    ? { id, level: 'ok', found: 'the kernel tells which pages are cached' }
    : {
        id,
        level: 'note',
        found: 'this kernel does not tell which pages are cached (cachestat)',
        means: 'a download of a file that is not cached may make the disk read far ahead',
      };
}

async function checkBuffers(): Promise<Diagnosis> {
  const id = 'kernel.rmem_max';
  const granted = await (await hostSockets(process.platform)).opener.grantedBuffer();
  if (granted >= RECEIVE_BUFFER) return { id, level: 'ok', found: `sockets get ${granted} octets` };
  return {
    id,
    level: 'warning',
    found: `sockets get receive buffers of ${granted} octets, engines want ${RECEIVE_BUFFER}`,
    means: 'bursts on links are lost while an engine is busy',
    repair: `sysctl -w net.core.rmem_max=${RECEIVE_BUFFER}`,
  };
}

function checkDescriptors(): Diagnosis {
  const id = 'limits.descriptors';
  const limits = textOf('/proc/self/limits') ?? '';
  const [, , given = ''] = /^Max open files\s+(\S+)\s+(\S+)/m.exec(limits) ?? [];
  const most = given === 'unlimited' ? Infinity : Number(given);
  const found = `this user may have ${given} open descriptors`;
  if (most >= WANTED_DESCRIPTORS) return { id, level: 'ok', found };
  return {
    id,
    level: most < FEWEST_DESCRIPTORS ? 'failure' : 'warning',
    found,
    means: 'each link end, console and connection takes one: large labs are refused',
    repair: 'ulimit -n 1048576 (in a unit of systemd: LimitNOFILE=1048576)',
  };
}

function checkPids(): Diagnosis {
  const id = 'kernel.pid_max';
  const most = Number(textOf('/proc/sys/kernel/pid_max') ?? Infinity);
  if (most >= WANTED_PIDS) return { id, level: 'ok', found: `${most} processes and threads may run` };
  return {
    id,
    level: 'warning',
    found: `only ${most} processes and threads may run on this host`,
    means: 'a virtual machine has several: a few thousand nodes do not start',
    repair: 'sysctl -w kernel.pid_max=4194304',
  };
}

function checkClock(): Diagnosis {
  const id = 'kernel.clock';
  const current = textOf(`${CLOCK}/current_clocksource`)?.trim();
  if (current === undefined || !SLOW_CLOCKS.includes(current))
    return { id, level: 'ok', found: `the clock source is ${current ?? 'not told'}` };
  const others = (textOf(`${CLOCK}/available_clocksource`) ?? '').trim().split(/\s+/);
  const better = others.find((name) => !SLOW_CLOCKS.includes(name));
  return {
    id,
    level: 'warning',
    found: `the clock source is ${current}, which is slow to read`,
    means: 'engines and guests read the clock for each batch of frames',
    repair:
      better === undefined
        ? 'look in the log of the kernel for why it does not trust the clock of the processor (dmesg | grep -i tsc)'
        : `echo ${better} > ${CLOCK}/current_clocksource`,
  };
}

function checkSwap(): Diagnosis {
  const id = 'memory.swap';
  const memory = textOf('/proc/meminfo') ?? '';
  const kibibytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(memory)?.[1] ?? 0);
  const total = kibibytes('SwapTotal');
  const used = total - kibibytes('SwapFree');
  if (total === 0)
    return {
      id,
      level: 'note',
      found: 'this host has no swap',
      means: 'when its memory is full, the kernel ends a program, such as a node',
    };
  const found = `${Math.round((used / total) * 100)} % of the swap is used`;
  if (used / total <= MOST_SWAPPED) return { id, level: 'ok', found };
  return {
    id,
    level: 'warning',
    found,
    means: 'the memory of guests lies on the disk, so they answer late',
    repair: 'stop labs, or bound them (wirefarm serve --server-quota memory=…)',
  };
}

interface ProcessorTimes {
  readonly stolen: number;
  readonly all: number;
}

/** In ticks, of all processors since the start of the host. Guests are part of user time already. */
function processorTimes(): ProcessorTimes {
  const [line = ''] = (textOf('/proc/stat') ?? '').split('\n', 1);
  const times = line.split(/\s+/).slice(1, 9).map(Number);
  return { stolen: times[7] ?? 0, all: times.reduce((sum, time) => sum + time, 0) };
}

function checkSteal(before: ProcessorTimes, after: ProcessorTimes): Diagnosis {
  const id = 'host.steal';
  const share = (after.stolen - before.stolen) / Math.max(1, after.all - before.all);
  const found = `the hypervisor took ${Math.round(share * 100)} % of the processors`;
  if (share <= MOST_STOLEN) return { id, level: 'ok', found };
  return {
    id,
    level: 'warning',
    found,
    means: 'this host is a virtual machine of a busy one: frames and clocks of guests are late',
    repair: 'give the virtual machine processors of its own, in its hypervisor',
  };
}

/** Undefined for a file that this system does not have. */
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
