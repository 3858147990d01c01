/** Captures are bounded by the share of a project, and by the end of the server. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { Client } from '../support/client.js';
import { frameOf, hubLine, type HubLine, type Json } from '../support/link-lab.js';
import { LiveStream } from '../support/live-stream.js';
import { NotificationLog } from '../support/notification-log.js';
import { pcapFile } from '../support/pcap-records.js';
import { startServer } from '../support/server-process.js';
import { portions } from '../support/udp-peer.js';

/** Sends frames of 4,000 octets. */
async function flood(line: HubLine, count: number): Promise<void> {
  let arrived = 0;
  const frames = Array.from({ length: count }, (_, mark) => frameOf(mark % 250, 4000));
  for (const portion of portions(frames)) await line.pass(portion, (arrived += portion.length));
}

const server = await startServer(t, { flags: ['--capture-quota', '1'] });
const client = new Client(server.url);
const host = { client, url: server.url };

void t.test('captures stop before they take more than the share of their project', async (t) => {
  const [line, other] = [await hubLine(t, host), await hubLine(t, host)];
  const news = await NotificationLog.open(`${host.url}${line.lab.path}/notifications`);
  await client.expect(201, 'POST', `${line.at}/start_capture`, { capture_file_name: 'a.pcap' });
  await client.expect(201, 'POST', `${other.at}/start_capture`);
  await flood(line, 270);
  const { event } = await news.next(
    (one) => one.action === 'link.updated' && one.event['capturing'] === false,
  );
  news.close();
  const reason = 'the captures of the project have reached their quota';
  t.match(await client.expect(200, 'GET', `${line.at}/capture`), { state: 'stopped', reason });
  t.equal(pcapFile(readFileSync(String(event['capture_file_path']))).packets.length, 270);
  t.match(await client.expect(200, 'GET', `${other.at}/capture`), { state: 'running' }, 'of another project');

  const again = (body: Json): Promise<{ status: number; text: string }> =>
    client.post(`${line.at}/start_capture`, body);
  const refused = await again({ capture_file_name: 'b.pcap' });
  t.equal(refused.status, 507);
  t.match(refused.text, /--capture-quota.*delete some/);
  t.match(await client.expect(200, 'GET', line.at), { capturing: false, capture_file_name: 'a.pcap' });
  t.equal(
    (await again({ capture_file_name: 'a.pcap' })).status,
    201,
    'a file that is replaced does not count',
  );
  await client.expect(201, 'POST', `${line.at}/stop_capture`);
  t.equal((await again({ capture_file_name: 'b.pcap' })).status, 201);
});

void t.test('deleting a capture makes room for one that runs', async (t) => {
  const line = await hubLine(t, host);
  await client.expect(201, 'POST', `${line.at}/start_capture`, { capture_file_name: 'a.pcap' });
  await flood(line, 150);
  await client.expect(201, 'POST', `${line.at}/stop_capture`);
  const settings = { capture_file_name: 'b.pcap', max_seconds: 2 };
  await client.expect(201, 'POST', `${line.at}/start_capture`, settings);
  const news = await NotificationLog.open(`${host.url}${line.lab.path}/notifications`);
  await client.expect(204, 'DELETE', `${line.lab.path}/captures/a.pcap`);
  const frames = Array.from({ length: 150 }, (_, mark) => frameOf(mark, 4000));
  let arrived = 150;
  for (const portion of portions(frames)) await line.pass(portion, (arrived += portion.length));
  await news.next(({ action, event }) => action === 'link.updated' && event['capturing'] === false);
  news.close();
  const reason = 'max_seconds was reached';
  t.match(await client.expect(200, 'GET', `${line.at}/capture`), { reason, packets: 150 });
});

void t.test('a server that is stopped leaves whole files', async (t) => {
  const line = await hubLine(t, host);
  const link = await client.expect(201, 'POST', `${line.at}/start_capture`);
  const stream = await LiveStream.open(t, `${host.url}${line.at}/pcap`);
  const frames = [1, 2, 3].map((mark) => frameOf(mark));
  await line.pass(frames, 3);
  t.equal(await server.stop('SIGTERM'), 0);
  t.same(pcapFile(readFileSync(String(link['capture_file_path']))).packets, frames);
  t.same(pcapFile(await stream.ended).packets, frames);
});
