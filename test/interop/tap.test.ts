/** A switch whose port is a TAP interface of this host: the host itself answers through it. */
import { execFileSync, spawnSync } from 'node:child_process';
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import type { Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';

const HOST = [198, 18, 77, 1];
const STATION = [198, 18, 77, 2];
const MAC = [2, 0, 0, 0, 0, 0xbb];
const ARP = '0806';

function missing(): string | false {
  if (spawnSync('ip', ['-V']).error !== undefined)
    return 'the program ip is missing: install the package iproute2';
  return process.getuid?.() === 0 ? false : 'it takes the right to make interfaces';
}

/** An interface with an address, up, and gone with the test. */
function tapInterface(t: Teardown): string {
  const name = `wf${process.pid}`;
  const ip = (...words: readonly string[]): void => {
    execFileSync('ip', words);
  };
  ip('tuntap', 'add', 'dev', name, 'mode', 'tap');
  t.teardown(() => {
    ip('link', 'del', name);
  });
  ip('addr', 'add', `${HOST.join('.')}/30`, 'dev', name);
  ip('link', 'set', name, 'up');
  return name;
}

function whoHas(): Buffer {
  const request = [0, 1, 8, 0, 6, 4, 0, 1, ...MAC, ...STATION, 0, 0, 0, 0, 0, 0, ...HOST];
  return Buffer.concat([
    Buffer.alloc(6, 0xff),
    Buffer.from(MAC),
    Buffer.from(ARP, 'hex'),
    Buffer.from(request),
  ]);
}

void t.test('the host answers through a TAP at a port', { skip: missing() }, async (t) => {
  const client = new Client((await startServer(t)).url);
  const lab = await ComputeLab.open(client);
  const node = await lab.node('ethernet_switch');
  const device = tapInterface(t);
  const reply = await lab.nio(node, 0, { type: 'nio_tap', tap_device: device });
  t.hasStrict(reply, { status: 201, body: { tap_device: device, type: 'nio_tap' } });
  const station = await UdpPeer.open(t);
  const port = await lab.join(node, 1, station);
  await station.send(port, [whoHas()]);
  for (let count = 1; ; count++) {
    const frame = (await station.receive(count))[count - 1];
    // The host may speak of other things first.
    if (frame?.subarray(12, 14).toString('hex') !== ARP || frame[21] !== 2) continue;
    t.same([...frame.subarray(0, 6)], MAC);
    t.same([...frame.subarray(28, 32)], HOST);
    break;
  }
  t.hasStrict(await lab.nio(node, 2, { type: 'nio_tap', tap_device: 'wfnothere' }), {
    status: 409,
    body: { message: 'TAP interface wfnothere is down' },
  });
  await lab.part(node, 0);
});
