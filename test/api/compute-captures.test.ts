/** Captures of the ports of switches, as the compute interface has them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client, type Reply } from '../support/client.js';
import { ComputeLab, nioPath } from '../support/compute-lab.js';
import { frameOf } from '../support/link-lab.js';
import { LiveStream } from '../support/live-stream.js';
import { pcapFile } from '../support/pcap-records.js';
import type { Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';

const server = await startServer(t);
const client = new Client(server.url);
const lab = await ComputeLab.open(client);
const refusal = (status: number, message: string | RegExp): object => ({ status, body: { message, status } });

interface Captured {
  readonly at: string;
  readonly node: string;
  readonly pass: (frames: readonly Buffer[], arrived: number) => Promise<Buffer[]>;
}

/** A hub with sockets at ports 0, which is looked at, and 1. */
async function captured(t: Teardown): Promise<Captured> {
  const node = await lab.node('ethernet_hub');
  const [one, other] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  await lab.join(node, 0, one);
  const near = await lab.join(node, 1, other);
  return {
    node,
    at: nioPath(node, 0).replace(/\/nio$/, ''),
    pass: async (frames, arrived) => {
      await other.send(near, frames);
      return one.receive(arrived);
    },
  };
}

const start = (at: string, body: object = { capture_file_name: 'x.pcap' }): Promise<Reply> =>
  client.post(`${at}/start_capture`, body);

void t.test('a port is captured from start to stop', async (t) => {
  const { at, pass } = await captured(t);
  const reply = await start(at, { capture_file_name: 'a.pcap', data_link_type: 'DLT_EN10MB' });
  t.equal(reply.status, 200);
  const { pcap_file_path: path } = reply.body as { pcap_file_path: string };
  t.match(path, join(lab.id, 'project-files', 'captures', 'a.pcap'));
  t.match(
    await start(at, { capture_file_name: 'b.pcap' }),
    refusal(409, 'Port 0 has already a filter applied'),
  );
  const stream = await LiveStream.open(t, `${server.url}${at}/pcap`);
  await pass([frameOf(1), frameOf(2)], 2);
  await client.expect(204, 'POST', `${at}/stop_capture`);
  const file = readFileSync(path);
  t.same(pcapFile(file).packets, [frameOf(1), frameOf(2)]);
  t.same(await stream.ended, file);
  await client.expect(204, 'POST', `${at}/stop_capture`);
  t.match(
    await client.get(`${at}/pcap`),
    refusal(409, 'Nothing to stream because there is no packet capture active'),
  );
});

void t.test('requests that cannot be served are refused', async (t) => {
  const { node, at } = await captured(t);
  const free = refusal(409, 'Port 5 is not allocated');
  const unused = at.replace(/0$/, '5');
  t.match(await start(unused), free);
  t.match(await client.post(`${unused}/stop_capture`), free);
  t.match(await client.get(`${unused}/pcap`), free);
  t.equal((await start(at, {})).status, 400, 'without a name');
  t.match(await start(at, { capture_file_name: '../x' }), refusal(400, /cannot be the name/));
  t.match(await start(at, { capture_file_name: 'x', files: 2 }), refusal(400, /ring/));
  t.equal((await start(`${node}/adapters/0/ports/x`)).status, 404);
  t.equal((await start(at)).status, 200, 'nothing of it is left');
});

void t.test('two ports do not write one file, and a name is free when its capture has ended', async (t) => {
  const [one, other] = [await captured(t), await captured(t)];
  t.equal((await start(one.at, { capture_file_name: 'same.pcap' })).status, 200);
  t.match(await start(other.at, { capture_file_name: 'same.pcap' }), refusal(409, /is writing same\.pcap/));
  await client.expect(204, 'DELETE', one.node);
  t.equal((await start(other.at, { capture_file_name: 'same.pcap' })).status, 200);
});

void t.test('a detached port ends its capture, and can be captured again', async (t) => {
  const { node, at, pass } = await captured(t);
  const { body } = await start(at, { capture_file_name: 'c.pcap' });
  const stream = await LiveStream.open(t, `${server.url}${at}/pcap`);
  await pass([frameOf(7)], 1);
  await lab.part(node, 0);
  t.same(pcapFile(readFileSync((body as { pcap_file_path: string }).pcap_file_path)).packets, [frameOf(7)]);
  t.equal(pcapFile(await stream.ended).packets.length, 1);
  await lab.join(node, 0, await UdpPeer.open(t));
  t.equal((await start(at, { capture_file_name: 'c.pcap' })).status, 200);
});

void t.test('which way is recorded is as the port sees it', async (t) => {
  const { at, pass } = await captured(t);
  const counts = { out: 1, forward: 1, in: 0, backward: 0, both: 1 };
  let arrived = 0;
  for (const [direction, count] of Object.entries(counts)) {
    const reply = await start(at, { capture_file_name: `${direction}.pcap`, direction });
    await pass([frameOf(1)], ++arrived);
    await client.expect(204, 'POST', `${at}/stop_capture`);
    const path = (reply.body as { pcap_file_path: string }).pcap_file_path;
    t.equal(pcapFile(readFileSync(path)).packets.length, count, direction);
  }
});

void t.test('filters of an attachment are carried out, and checked before', async (t) => {
  const node = await lab.node('ethernet_hub');
  const [one, other] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  await lab.join(node, 0, one, { filters: { frequency_drop: [2] }, suspend: false });
  const near = await lab.join(node, 1, other);
  await other.send(
    near,
    [1, 2, 3, 4].map((mark) => frameOf(mark)),
  );
  t.same(await one.receive(2), [frameOf(1), frameOf(3)]);
});
