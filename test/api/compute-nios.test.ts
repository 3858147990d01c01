/** Where the ports of switches lead: what can be attached, and what is refused with the reason. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab, nioPath } from '../support/compute-lab.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { freePort } from '../support/udp-peer.js';
import { UnixPeer } from '../support/unix-peer.js';

/** An interface that labs may use, and that is not there. */
const ABSENT = 'wf-absent';
const server = await startServer(t, { flags: ['--nio-interfaces', ABSENT] });
const client = new Client(server.url);
const lab = await ComputeLab.open(client);
const atm = await lab.node('atm_switch', { mappings: { '1:0:100': '2:0:200' } });
const refusal = (status: number, message: string | RegExp): object => ({ status, body: { message, status } });
const isLinux = process.platform === 'linux' ? false : 'it takes Linux';

/** A cell without content; its header error control is left to be mended. */
function cell(vci: number): Buffer {
  const bytes = Buffer.alloc(53);
  bytes.writeUInt32BE(vci << 4);
  return bytes;
}

void t.test('a port has one attachment, whatever the adapter is called', async (t) => {
  t.strictSame((await lab.nio(atm, 1, { type: 'nio_null' })).body, { type: 'nio_null' });
  t.match(await lab.nio(atm, 1, { type: 'nio_null' }), refusal(409, "Port 1 isn't free"));
  t.match(await client.post(nioPath(atm, 1, 99), { type: 'nio_null' }), refusal(409, "Port 1 isn't free"));
  t.equal((await client.delete(nioPath(atm, 1, 7))).status, 204);
  t.match(await client.delete(nioPath(atm, 1)), refusal(409, 'Port 1 is not allocated'));
});

void t.test('ports are numbers, and an attachment is neither read nor changed', async (t) => {
  for (const path of [nioPath(atm, 'x'), nioPath(atm, '-1'), nioPath(atm, '1.5'), nioPath(atm, 1, 'a')]) {
    t.equal((await client.post(path, { type: 'nio_null' })).status, 404, path);
    t.equal((await client.delete(path)).status, 404, path);
  }
  t.match(await lab.nio(atm, 65_536, { type: 'nio_null' }), refusal(409, "Port 65536 doesn't exist"));
  t.equal((await client.get(nioPath(atm, 1))).status, 405);
  t.equal((await client.put(nioPath(atm, 1), {})).status, 405);
});

void t.test('a body that is no attachment is refused in the words of the contract', async (t) => {
  for (const body of [
    {},
    [],
    null,
    7,
    { type: 'nio_what' },
    { type: 'nio_null', more: 1 },
    { type: 'nio_udp', lport: 1, rhost: 'h' },
    { type: 'nio_udp', lport: 0, rhost: 'h', rport: 1 },
    { type: 'nio_tap', tap_device: '' },
  ]) {
    t.match(await lab.nio(atm, 1, body), {
      status: 400,
      body: { message: / is not valid under any of the given schemas$/, path: /\/nio$/, method: 'POST' },
    });
  }
});

void t.test('things that the reference does not support are not supported', async (t) => {
  for (const body of [
    { type: 'nio_nat' },
    { type: 'nio_vmnet', vmnet: 'vmnet1' },
    { type: 'nio_ethernet', ethernet_device: 'eth0' },
    { type: 'nio_vde', control_file: '/a', local_file: '/b' },
  ]) {
    t.match(await lab.nio(atm, 1, body), refusal(409, `NIO of type ${body.type} is not supported`));
  }
});

void t.test('a UDP attachment is echoed without what is about the link', async (t) => {
  const nio = { lport: await lab.udpPort(), rhost: '127.0.0.1', rport: 9, type: 'nio_udp' };
  const reply = await lab.nio(atm, 1, { ...nio, suspend: false, filters: {} });
  t.equal(reply.status, 201);
  t.equal(reply.text, JSON.stringify(nio));
  await lab.part(atm, 1);
});

void t.test(
  'a UDP attachment that cannot be made is refused with the reason, and leaves nothing',
  async (t) => {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const free = await lab.udpPort();
    const cases: readonly (readonly [lport: number, rhost: string, reason: RegExp])[] = [
      [socket.address().port, '127.0.0.1', /EADDRINUSE/],
      [free, 'no-such-host.invalid', /no-such-host\.invalid/],
      [free, '0.0.0.0', /not the address of one host/],
      [free, '::', /not the address of one host/],
      [free, '224.0.0.5', /not the address of one host/],
      [free, '255.255.255.255', /not the address of one host/],
      [free, '0', /not the address of one host/],
      [free, '::ffff:127.0.0.1', /IPv4/],
    ];
    for (const [lport, rhost, reason] of cases) {
      const reply = await lab.nio(atm, 1, { type: 'nio_udp', lport, rhost, rport: 7 });
      t.match(reply, refusal(409, reason), rhost);
      t.match(reply.text, `Could not create an UDP connection to ${rhost}:7: `);
    }
    socket.close();
    const wrong = { type: 'nio_udp', lport: free, rhost: 'localhost', rport: 7, filters: { delay: ['x'] } };
    t.match(await lab.nio(atm, 1, wrong), refusal(400, /delay/), 'filters that are none');
    t.equal(
      (await lab.nio(atm, 1, { type: 'nio_udp', lport: free, rhost: 'localhost', rport: 7 })).status,
      201,
    );
    await lab.part(atm, 1);
  },
);

void t.test('a UDP port outside of the range, and one that nobody was given, will do', async (t) => {
  const lport = await freePort();
  const nio = { type: 'nio_udp', lport, rhost: '127.0.0.1', rport: 9 };
  t.equal((await lab.nio(atm, 1, nio)).status, 201);
  t.match(await lab.nio(atm, 2, nio), refusal(409, /EADDRINUSE/));
  await lab.part(atm, 1);
  t.equal((await lab.nio(atm, 2, nio)).status, 201, 'free again');
  await lab.part(atm, 2);
});

void t.test('a UDP port comes back with its attachment, to whom it was given only', async (t) => {
  const own = await ComputeLab.open(client);
  const other = await ComputeLab.open(client);
  const node = await own.node('atm_switch');
  const [mine, theirs] = [await own.udpPort(), await other.udpPort()];
  const reserved = async (): Promise<unknown> =>
    (await client.expect(200, 'GET', '/v2/compute/network/ports'))['udp_ports'];
  for (const [port, lport] of [mine, theirs].entries()) {
    const nio = { type: 'nio_udp', lport, rhost: '127.0.0.1', rport: 9 };
    t.equal((await own.nio(node, port, nio)).status, 201);
    await own.part(node, port);
  }
  t.same(await reserved(), [theirs]);
  await other.close();
  const ports = [await own.udpPort(), await own.udpPort(), await own.udpPort()];
  await own.nio(node, 1, { type: 'nio_udp', lport: ports[0], rhost: '127.0.0.1', rport: 9 });
  await client.expect(204, 'DELETE', node);
  t.same(await reserved(), ports.slice(1));
  await client.expect(204, 'DELETE', own.path);
  t.same(await reserved(), []);
});

void t.test('UDP leads only where the server may send', async (t) => {
  const guarded = await startServer(t, { flags: ['--nio-networks', '127.0.0.0/8, 10.0.0.0/8'] });
  const its = new Client(guarded.url);
  const own = await ComputeLab.open(its);
  const node = await own.node('ethernet_hub');
  const nio = { type: 'nio_udp', lport: await own.udpPort(), rport: 9 };
  t.match(await own.nio(node, 1, { ...nio, rhost: '192.0.2.1' }), refusal(409, /outside of the networks/));
  t.equal((await own.nio(node, 1, { ...nio, rhost: '127.0.0.1' })).status, 201);
});

void t.test('a hub has the ports of its mapping, an Ethernet switch any', async (t) => {
  const hub = await lab.node('ethernet_hub', { ports_mapping: [{ name: 'a', port_number: 4 }] });
  t.match(await lab.nio(hub, 0, { type: 'nio_null' }), refusal(409, "Port 0 doesn't exist"));
  t.equal((await lab.nio(hub, 4, { type: 'nio_null' })).status, 201);
  const ethernet = await lab.node('ethernet_switch');
  t.equal((await lab.nio(ethernet, 500, { type: 'nio_null' })).status, 201);
});

void t.test('an interface that is down, or that is not there, is told', { skip: isLinux }, async (t) => {
  for (const name of ['no-such-if', '../../..', 'x'.repeat(200), 'a/b']) {
    t.match(
      await lab.nio(atm, 1, { type: 'nio_generic_ethernet', ethernet_device: name }),
      refusal(409, `Ethernet interface ${name} is down`),
    );
    t.match(
      await lab.nio(atm, 1, { type: 'nio_tap', tap_device: name }),
      refusal(409, `TAP interface ${name} is down`),
    );
  }
  t.match(
    await lab.nio(atm, 1, { type: 'nio_linux_ethernet', ethernet_device: ABSENT }),
    refusal(409, /^Could not attach to the interface .*: there is no interface/),
  );
});

void t.test('an interface that labs may not use is refused', async (t) => {
  for (const name of ['lo', 'eth0', 'no-such-if', '../../..', `${ABSENT}:1`, '']) {
    const reply = await lab.nio(atm, 1, { type: 'nio_linux_ethernet', ethernet_device: name });
    if (name === '') t.equal(reply.status, 400);
    else t.match(reply, refusal(409, `the interface ${name}: this server's --nio-interfaces do not have it`));
  }
  t.match(
    await lab.nio(atm, 1, { type: 'nio_generic_ethernet', ethernet_device: 'lo' }),
    refusal(409, "this server's --nio-interfaces do not have it"),
  );
});

void t.test('a Unix socket is attached, and its file goes with it', { skip: isLinux }, async (t) => {
  const folder = join(server.data, 'projects', lab.id);
  const [near, far] = [join(folder, 'near'), join(folder, 'far')];
  const peer = new UnixPeer(t, far);
  const own = await lab.node('atm_switch', { mappings: { '1:0:100': '1:0:200' } });
  const nio = { local_file: near, remote_file: far, type: 'nio_unix' };
  t.strictSame((await lab.nio(own, 1, nio)).body, nio);
  peer.connect(near);
  peer.send(cell(100));
  let received = peer.receive();
  for (let tries = 0; received === undefined && tries < 200; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    received = peer.receive();
  }
  t.equal(received?.readUInt32BE(), 200 << 4);
  t.match(await lab.nio(atm, 1, nio), refusal(409, /^Could not attach to the Unix socket: .*EADDRINUSE/));
  await lab.part(own, 1);
  t.notOk(existsSync(near));
  new UnixPeer(t, join(folder, 'second'));
  t.equal(
    (await lab.nio(own, 1, { ...nio, local_file: 'near', remote_file: 'second' })).status,
    201,
    'relative to the project',
  );
  await client.expect(204, 'DELETE', own);
  t.notOk(existsSync(near));
});

void t.test(
  'a Unix socket lies in the project, both ends of it, and not among temporary files',
  { skip: isLinux },
  async (t) => {
    const folder = join(server.data, 'projects', lab.id);
    const inside = join(folder, 'x.sock');
    const temporary = join(scratchFolder(t), 'other.sock');
    const other = new UnixPeer(t, temporary);
    for (const [local_file, remote_file, status] of [
      ['/run/x.sock', inside, 403],
      [inside, '/run/systemd/notify', 403],
      ['../x.sock', inside, 403],
      [`${temporary}.near`, inside, 403],
      [inside, temporary, 403],
      [inside, `${inside}.none`, 409],
      [`${inside}${'x'.repeat(200)}`, inside, 409],
      [join(folder, 'none', 'x'), inside, 404],
    ] as const) {
      const reply = await lab.nio(atm, 1, { type: 'nio_unix', local_file, remote_file });
      t.equal(reply.status, status, `${local_file} ${reply.text}`);
      for (const path of [inside, `${temporary}.near`]) t.notOk(existsSync(path));
    }
    t.equal(other.receive(), undefined);
  },
);

void t.test('a switch has so many ports attached and no more', async (t) => {
  const node = await lab.node('atm_switch');
  const nio = { type: 'nio_null' };
  const replies = await Promise.all(Array.from({ length: 900 }, (_, port) => lab.nio(node, port, nio)));
  t.ok(replies.every(({ status }) => status === 201));
  for (let port = 900; port < 1024; port++) await lab.nio(node, port, nio);
  t.match(await lab.nio(node, 1024, nio), refusal(409, /too many ports attached: at most 1024/));
  await client.expect(204, 'DELETE', node);
});
