import { existsSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LinuxOpener } from '../../../../src/engine/sockets/linux/linux-opener.js';
import { OpenError } from '../../../../src/engine/sockets/opener.js';
import type { PortEndpoint } from '../../../../src/engine/forwarding/transport.js';
import { lackForNamespaces, NetworkNamespace } from '../../../support/network-namespace.js';
import { RandomBytes } from '../../../support/random.js';
import { scratchFolder } from '../../../support/scratch.js';
import { linuxSockets } from '../../../support/linux-sockets.js';
import { TransportRig, type Attached } from '../../../support/transport-rig.js';
import { freePort, portions, UdpPeer } from '../../../support/udp-peer.js';
import { UnixPeer } from '../../../support/unix-peer.js';
import { openerContract } from '../opener.contract.js';

const HOST = '127.0.0.1';
const lack = lackForNamespaces();

openerContract(t, new LinuxOpener());

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

/** Ethernet frames to everybody, with a payload of their own. */
function ethernetFrames(count: number, start: Buffer, length: number): Buffer[] {
  const bytes = new RandomBytes(length);
  return Array.from({ length: count }, () => Buffer.concat([start, bytes.next(length - start.length)]));
}

const ADDRESSES = Buffer.from('ffffffffffff0200000000aa', 'hex');
const LOCAL_EXPERIMENT = Buffer.from('88b5', 'hex');
const PLAIN = Buffer.concat([ADDRESSES, LOCAL_EXPERIMENT]);

void t.test('a port that somebody holds is refused in words, and no descriptor is left', async (t) => {
  const opener = new LinuxOpener();
  const peer = await UdpPeer.open(t);
  const before = openDescriptors();
  const remote = { remoteHost: HOST, remotePort: 9 };
  t.throws(
    () => opener.open({ type: 'udp', localHost: HOST, localPort: peer.port, ...remote }),
    new OpenError('address already in use (EADDRINUSE)', 'EADDRINUSE'),
  );
  t.throws(
    () => opener.open({ type: 'udp', localHost: '192.0.2.1', localPort: 9, ...remote }),
    new OpenError('address not available (EADDRNOTAVAIL)', 'EADDRNOTAVAIL'),
  );
  t.throws(() => opener.open({ type: 'udp', localHost: '::1', localPort: 9, ...remote }), OpenError);
  t.throws(() => opener.open({ type: 'packet', device: 'wf-none' }), {
    message: 'there is no interface wf-none',
  });
  t.equal(openDescriptors(), before);
});

void t.test('each descriptor is closed once', async (t) => {
  const opener = new LinuxOpener();
  const before = openDescriptors();
  const localPort = await freePort();
  const wanted = { type: 'udp', localHost: HOST, localPort, remoteHost: HOST, remotePort: 9 } as const;
  for (let round = 0; round < 100; round++) opener.close(opener.open(wanted));
  t.equal(openDescriptors(), before);
  t.equal(await opener.isFree(localPort), true);
});

void t.test('frames that do not fit into the receive buffer are counted as lost', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  const peer = await UdpPeer.open(t);
  const link = await rig.attachUdp(t, peer.port);
  const { opener } = rig.sockets;
  const SENT = 400;
  const frame = Buffer.alloc(60_000, 1);
  // More than what waits fits into: nobody fetches it.
  for (let sent = 0; sent < SENT; sent += 20) {
    await peer.send(
      link.localPort,
      Array.from({ length: 20 }, () => frame),
    );
  }
  const lost = opener.lost(link.endpoint);
  t.ok(lost > 0 && lost < SENT, `${lost} were lost`);
  await rig.turnUntil('the rest arrives', () => link.arrived.length === SENT - lost);
  await peer.send(link.localPort, [Buffer.of(1)]);
  await rig.turnUntil('and later ones', () => link.arrived.length === SENT - lost + 1);
  t.equal(opener.lost(link.endpoint), lost);
});

void t.test('bursts of thousands of frames wait without loss', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  const peer = await UdpPeer.open(t);
  const link = await rig.attachUdp(t, peer.port);
  const bytes = new RandomBytes(7);
  const frames = Array.from({ length: 3000 }, () => bytes.next(60));
  for (const portion of portions(frames)) await peer.send(link.localPort, portion);
  await rig.turnUntil('all arrive', () => link.arrived.length === frames.length);
  t.same(Buffer.concat(link.arrived), Buffer.concat(frames));
  t.equal(rig.sockets.opener.lost(link.endpoint), 0);
});

void t.test('a Unix socket leaves no file behind', (t) => {
  const opener = new LinuxOpener();
  const folder = scratchFolder(t);
  const [near, far] = [join(folder, 'near'), join(folder, 'far')];
  const before = openDescriptors();
  t.throws(() => opener.open({ type: 'unix', localFile: near, remoteFile: far }), {
    name: 'OpenError',
    message: `${far}: no such file or directory (ENOENT)`,
  });
  t.notOk(existsSync(near), 'not even when the far end is missing');
  t.equal(openDescriptors(), before);
  new UnixPeer(t, far);
  const endpoint = opener.open({ type: 'unix', localFile: near, remoteFile: far });
  t.ok(existsSync(near));
  t.throws(() => opener.open({ type: 'unix', localFile: near, remoteFile: far }), {
    message: 'address already in use (EADDRINUSE)',
  });
  t.ok(existsSync(near), 'a refused one does not remove what is another’s');
  opener.close(endpoint);
  t.notOk(existsSync(near));
  t.end();
});

void t.test('a file that was there before is not taken for a socket', (t) => {
  const opener = new LinuxOpener();
  const folder = scratchFolder(t);
  const file = join(folder, 'precious');
  writeFileSync(file, 'kept');
  new UnixPeer(t, join(folder, 'far'));
  t.throws(() => opener.open({ type: 'unix', localFile: file, remoteFile: join(folder, 'far') }), OpenError);
  t.ok(existsSync(file));
  t.end();
});

/** A TAP and a packet socket on its interface: what one sends the other receives. */
async function tapAndWire(t: Test, rig: TransportRig): Promise<[tap: Attached, wire: Attached]> {
  const namespace = new NetworkNamespace(t);
  const open = (wanted: { type: 'tap' | 'packet'; device: string }): PortEndpoint =>
    namespace.inside(() => rig.open(t, wanted));
  const tap = await rig.attach(open({ type: 'tap', device: 'tap0' }));
  namespace.ip('link', 'set', 'tap0', 'mtu', '9300', 'up');
  return [tap, await rig.attach(open({ type: 'packet', device: 'tap0' }))];
}

void t.test('a TAP and a packet socket carry Ethernet frames both ways', { skip: lack }, async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  const [tap, wire] = await tapAndWire(t, rig);
  const frames = [...ethernetFrames(300, PLAIN, 60), ...ethernetFrames(3, PLAIN, 9216), PLAIN];
  for (const [from, to] of [
    [tap, wire],
    [wire, tap],
  ] as const) {
    for (const portion of portions(frames)) {
      const all = to.arrived.length + portion.length;
      rig.send(from, portion);
      await rig.turnUntil('all arrive', () => to.arrived.length === all);
    }
    t.same(to.arrived, frames);
    t.equal(rig.books.counter(from.row, 'frames_out'), frames.length);
    t.equal(from.arrived.length, from === wire ? frames.length : 0, 'nobody hears what they have sent');
  }
  t.equal(rig.sockets.opener.lost(tap.endpoint), 0);
  t.equal(rig.sockets.opener.lost(wire.endpoint), 0);
});

void t.test(
  'a TAP that is held, or has a name that no interface can have, is refused',
  { skip: lack },
  (t) => {
    const namespace = new NetworkNamespace(t);
    const opener = new LinuxOpener();
    const open = (device: string): PortEndpoint =>
      namespace.inside(() => opener.open({ type: 'tap', device }));
    const tap = open('tap0');
    const before = openDescriptors();
    t.throws(() => open('tap0'), new OpenError('resource busy or locked (EBUSY)', 'EBUSY'));
    t.throws(() => open('a-name-of-sixteen'), OpenError);
    t.throws(() => open('with/slash'), OpenError);
    t.equal(openDescriptors(), before);
    opener.close(tap);
    opener.close(open('tap0'));
    t.end();
  },
);

void t.test('a packet socket puts back the tag that the kernel takes off', { skip: lack }, async (t) => {
  const namespace = new NetworkNamespace(t);
  namespace.ip('link', 'add', 'left', 'type', 'veth', 'peer', 'name', 'right');
  for (const device of ['left', 'right']) namespace.ip('link', 'set', device, 'up');
  const rig = new TransportRig(t, linuxSockets);
  const open = (device: string): Promise<Attached> =>
    rig.attach(namespace.inside(() => rig.open(t, { type: 'packet', device })));
  const [left, right, third] = [await open('left'), await open('right'), await open('left')];
  const tagged = (tag: string): Buffer =>
    Buffer.concat([ADDRESSES, Buffer.from(tag, 'hex'), LOCAL_EXPERIMENT]);
  const frames = [
    ...ethernetFrames(2, PLAIN, 60),
    ...ethernetFrames(2, tagged('81000064'), 64),
    ...ethernetFrames(2, tagged('8100e001'), 1518),
    ...ethernetFrames(2, tagged('88a8006481000065'), 68),
    // Tag 0: the frame has priority only.
    ...ethernetFrames(1, tagged('8100a000'), 64),
    ...ethernetFrames(1, tagged('81000000'), 64),
    ...ethernetFrames(1, PLAIN, 1514),
  ];
  rig.send(left, frames);
  await rig.turnUntil('all arrive', () => right.arrived.length === frames.length);
  t.same(right.arrived, frames);
  t.equal(
    rig.books.counter(right.row, 'octets_in'),
    frames.reduce((octets, { length }) => octets + length, 0),
  );
  t.equal(left.arrived.length, 0, 'own frames are not heard');
  t.equal(third.arrived.length, 0, 'nor what others send by the same interface');
  rig.send(right, frames);
  await rig.turnUntil('all arrive', () => left.arrived.length === frames.length);
  await rig.turnUntil('and at the other socket', () => third.arrived.length === frames.length);
  t.same(left.arrived, frames);
  t.same(third.arrived, frames);
  t.equal(right.arrived.length, frames.length);
});

void t.test('a file that replaced the file of a Unix socket stays', (t) => {
  const folder = scratchFolder(t);
  const [near, far] = [join(folder, 'near'), join(folder, 'far')];
  const opener = new LinuxOpener();
  new UnixPeer(t, far);
  const endpoint = opener.open({ type: 'unix', localFile: near, remoteFile: far });
  unlinkSync(near);
  writeFileSync(near, 'precious');
  opener.close(endpoint);
  t.equal(readFileSync(near, 'utf8'), 'precious');
  t.end();
});

void t.test('sockets leave the last descriptors alone', (t) => {
  const before = readdirSync('/proc/self/fd').length;
  const opener = new LinuxOpener(5);
  t.throws(
    () =>
      opener.open({
        type: 'udp',
        localHost: '127.0.0.1',
        localPort: 0,
        remoteHost: '127.0.0.1',
        remotePort: 9,
      }),
    {
      message: /raise the limit of the server/,
    },
  );
  t.equal(readdirSync('/proc/self/fd').length, before);
  t.end();
});
