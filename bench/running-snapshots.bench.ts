/**
 * Snapshots of a lab that runs: a guest of 512 MiB with part of its memory in use, then with most of it, on a disk whose files
 * share blocks; and one with an overlay of 1 GiB on the disk of the host. How long a client waits, and how long the guest
 * stands still, as the server tells.
 */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { GUEST, missingGuest, placeGuest } from '../test/support/linux-guest.js';
import { call } from './compute-client.js';
import { figure, type Bench, type Figure } from './measurement.js';
import { booted, run } from './nodes/guest-shell.js';
import { PcLab } from './nodes/pc-lab.js';
import { LoopDisk } from './snapshots/loop-disk.js';

const ROUNDS = 5;
const MEBI = 2 ** 20;
const DISK = 'overlaid.raw';
const DISK_MIB = 2048;
const SHARING_DISK_MIB = 8192;
const MACHINE = { ...GUEST, ram: 512 };
const STOOD_STILL = /stood still for (\d+) ms/;

interface Stage {
  readonly name: string;
  /** The guest runs it before. */
  readonly command: string;
  readonly aims?: { readonly wait: string; readonly hold: string };
}

const SHARED: readonly Stage[] = [
  {
    name: '60 MiB more in use than Linux takes, shared blocks',
    command: 'mkdir -p /m && mount -t tmpfs -o size=90% m /m && head -c 60m /dev/urandom >/m/a',
    aims: { wait: 'at most 1.5', hold: 'at most 0.5' },
  },
  {
    name: 'most of the memory in use, shared blocks',
    command: 'head -c 320m /dev/urandom >/m/b',
  },
];
const PLAIN: readonly Stage[] = [
  {
    name: 'an overlay of 1 GiB, the disk of the host',
    command: 'dd if=/dev/zero of=/dev/vda bs=1M count=1024 && sync',
  },
];

export const runningSnapshots: Bench = {
  name: 'running-snapshots',
  async run() {
    const missing = missingGuest();
    if (missing !== false) throw new Error(missing);
    const scratch = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    try {
      const disk = await LoopDisk.mount(scratch, SHARING_DISK_MIB * MEBI);
      const shared = disk === undefined ? [] : await figuresOf(disk.folder, SHARED);
      await disk?.unmount();
      return [...shared, ...(await figuresOf(scratch, PLAIN))];
    } finally {
      rmSync(scratch, { recursive: true });
    }
  },
};

async function figuresOf(place: string, stages: readonly Stage[]): Promise<Figure[]> {
  const removals: (() => unknown)[] = [];
  const lab = await PcLab.start(['--kvm', 'off'], place);
  try {
    const images = placeGuest({ teardown: (remove: () => unknown) => removals.push(remove) }, lab.data);
    writeFileSync(join(images, DISK), '');
    truncateSync(join(images, DISK), DISK_MIB * MEBI);
    const machine = { ...MACHINE, hda_disk_image: DISK, hda_disk_interface: 'virtio' };
    const guest = await lab.newNode('qemu', 'G1', machine);
    await call(`${lab.url}/nodes/start`, 'POST', {});
    const shell = await booted(guest.console);
    const figures: Figure[] = [];
    for (const { name, command, aims } of stages) {
      await run(shell, command);
      const [waits, holds]: [number[], number[]] = [[], []];
      // The first round warms up.
      for (let round = 0; round <= ROUNDS; round++) {
        const { wait, hold } = await snapshotOf(lab);
        if (round === 0) continue;
        waits.push(wait);
        holds.push(hold);
      }
      figures.push(figure(`snapshot: ${name}`, 's', waits, aims?.wait));
      figures.push(figure(`guest held: ${name}`, 's', holds, aims?.hold));
    }
    shell.close();
    return figures;
  } finally {
    await lab.end();
    for (const remove of removals) remove();
  }
}

/** Makes a snapshot and deletes it; returns seconds. */
async function snapshotOf(lab: PcLab): Promise<{ wait: number; hold: number }> {
  const news = await fetch(`${lab.url}/notifications`);
  if (news.body === null) throw new Error('the server tells nothing');
  const lines = createInterface({ input: Readable.fromWeb(news.body) });
  const held = heldFor(lines);
  const begun = performance.now();
  const url = `${lab.url}/snapshots?running=true&hold=long`;
  const made = (await call(url, 'POST', { name: 'running' })) as { snapshot_id: string };
  const wait = (performance.now() - begun) / 1000;
  const hold = await held;
  lines.close();
  await call(`${lab.url}/snapshots/${made.snapshot_id}`, 'DELETE');
  return { wait, hold };
}

async function heldFor(lines: AsyncIterable<string>): Promise<number> {
  for await (const line of lines) {
    const ms = STOOD_STILL.exec(line)?.[1];
    if (ms !== undefined) return Number(ms) / 1000;
  }
  throw new Error('the server did not tell how long the guest was held');
}
