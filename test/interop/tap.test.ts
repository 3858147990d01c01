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
function tapInterface(t: Teardown, name: string, ...owner: readonly string[]): string {
  const ip = (...words: readonly string[]): void => {
    execFileSync('ip', words);
  };
  ip('tuntap', 'add', 'dev', name, 'mode', 'tap', ...owner);
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
  const name = `wf${process.pid}`;
  const client = new Client((await startServer(t, { flags: ['--nio-interfaces', name] })).url);
  const lab = await ComputeLab.open(client);
  const node = await lab.node('ethernet_switch');
  const device = tapInterface(t, name);
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

void t.test(
  'a server uses interfaces that it is told of, and TAPs of its own user',
  { skip: missing() },
  async (t) => {
    const names = ['a', 'b', 'c'].map((letter) => `wf${process.pid}${letter}`);
    const [allowed = '', own = '', others = ''] = names;
    const client = new Client((await startServer(t, { flags: ['--nio-interfaces', allowed] })).url);
    const lab = await ComputeLab.open(client);
    const node = await lab.node('ethernet_switch');
    tapInterface(t, allowed);
    tapInterface(t, own, 'user', String(process.geteuid?.()));
    tapInterface(t, others, 'user', '65534');
    const outcome = async (type: string, device: string): Promise<number> => {
      const word = type === 'nio_tap' ? 'tap_device' : 'ethernet_device';
      const { status, text } = await lab.nio(node, 0, { type, [word]: device });
      if (status === 201) await lab.part(node, 0);
      else t.match(text, /--nio-interfaces/, `${type} ${device}`);
      return status;
    };
    for (const type of ['nio_linux_ethernet', 'nio_generic_ethernet']) {
      t.equal(await outcome(type, allowed), 201);
      t.equal(await outcome(type, own), 409, 'it is not said to be for labs');
      t.equal(await outcome(type, 'lo'), 409);
    }
    t.equal(await outcome('nio_tap', allowed), 201);
    t.equal(await outcome('nio_tap', own), 201);
    t.equal(await outcome('nio_tap', others), 409);
  },
);
