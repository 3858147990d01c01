/**
 * Two machines that are linked: one sends UDP as fast as it can by the packet generator of its kernel, the other counts. Once as
 * nodes of a server, once with the sockets of QEMU back to back. Machines are emulated on both sides.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { GUEST } from '../../test/support/linux-guest.js';
import { call } from '../compute-client.js';
import { freePorts } from '../traffic/forwarder.js';
import { booted, run } from './guest-shell.js';
import type { PcConsole } from './pc-console.js';
import type { PcLab } from './pc-lab.js';

export const PACKET_GENERATOR = 'net/core/pktgen';
const OCTETS = 1500;

export interface GuestPair {
  readonly sender: PcConsole;
  readonly receiver: PcConsole;
  /** CPU time of what is between the machines. */
  cpuSeconds(): number;
  end(): Promise<void>;
}

export interface GuestLoad {
  readonly framesPerSecond: number;
  /** Seconds of CPU between the machines for a million frames that were received. */
  readonly costPerMillion: number;
}

export async function linkedGuests(lab: PcLab): Promise<GuestPair> {
  const nodes = [await lab.newNode('qemu', 'G1', GUEST), await lab.newNode('qemu', 'G2', GUEST)] as const;
  await lab.link([nodes[0], 0], [nodes[1], 0]);
  await call(`${lab.url}/nodes/start`, 'POST', {});
  const [sender, receiver] = [await booted(nodes[0].console), await booted(nodes[1].console)];
  return {
    ...{ sender, receiver },
    cpuSeconds: () => lab.server.cpuSeconds(),
    end: () => {
      for (const console of [sender, receiver]) console.close();
      return lab.end();
    },
  };
}

/** Nothing is between these but sockets of the kernel. */
export async function bareGuests(images: string): Promise<GuestPair> {
  const [first = 0, second = 0, ...consoles] = await freePorts(4);
  const machines = [
    startQemu(images, '0c:00:00:00:00:01', [first, second], consoles[0] ?? 0),
    startQemu(images, '0c:00:00:00:00:02', [second, first], consoles[1] ?? 0),
  ];
  const [sender, receiver] = [await booted(consoles[0] ?? 0), await booted(consoles[1] ?? 0)];
  return {
    ...{ sender, receiver },
    cpuSeconds: () => 0,
    end: async () => {
      for (const console of [sender, receiver]) console.close();
      await Promise.all(
        machines.map(async (machine) => {
          machine.kill('SIGKILL');
          await once(machine, 'exit');
        }),
      );
    },
  };
}

/** Sends so many frames; those that the other has received count. */
export async function loadOf(pair: GuestPair, frames: number): Promise<GuestLoad> {
  const { sender, receiver } = pair;
  const mac = /(?:[\da-f]{2}:){5}[\da-f]{2}/.exec(
    await run(receiver, 'cat /sys/class/net/eth0/address'),
  )?.[0];
  const device = '/proc/net/pktgen/eth0';
  await run(
    sender,
    'echo rem_device_all >/proc/net/pktgen/kpktgend_0; echo add_device eth0 >/proc/net/pktgen/kpktgend_0',
  );
  for (const setting of [
    `count ${frames}`,
    `pkt_size ${OCTETS}`,
    'delay 0',
    'dst 198.18.0.2',
    `dst_mac ${mac}`,
  ])
    await run(sender, `echo ${setting} >${device}`);
  const received = async (): Promise<number> =>
    Number(/\n(\d+)\r/.exec(await run(receiver, 'cat /sys/class/net/eth0/statistics/rx_packets'))?.[1]);
  const before = { frames: await received(), cpu: pair.cpuSeconds(), at: performance.now() };
  await run(sender, 'echo start >/proc/net/pktgen/pgctrl');
  const seconds = (performance.now() - before.at) / 1000;
  const cpu = pair.cpuSeconds() - before.cpu;
  const count = (await received()) - before.frames;
  return { framesPerSecond: count / seconds, costPerMillion: (cpu / count) * 1e6 };
}

function startQemu(images: string, mac: string, [from, to]: readonly [number, number], console: number) {
  const wire = [
    ...['dgram', 'id=wire', 'local.type=inet', 'local.host=127.0.0.1', `local.port=${from}`],
    ...['remote.type=inet', 'remote.host=127.0.0.1', `remote.port=${to}`],
  ];
  return spawn(
    'qemu-system-x86_64',
    [
      ...['-m', `${GUEST.ram}M`, '-smp', 'cpus=1', '-display', 'none', '-accel', 'tcg'],
      ...['-kernel', join(images, GUEST.kernel_image), '-initrd', join(images, GUEST.initrd)],
      ...['-append', GUEST.kernel_command_line, '-net', 'none'],
      ...['-serial', `tcp:127.0.0.1:${console},server=on,wait=on`],
      ...['-device', `${GUEST.adapter_type},mac=${mac},netdev=wire`, '-netdev', wire.join(',')],
    ],
    { stdio: 'ignore' },
  );
}
