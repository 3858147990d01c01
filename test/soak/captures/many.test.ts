/** Two hundred captures with a viewer each, and some who never read: everybody has everything, and nothing is left. */
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { LinkFan } from '../../support/link-fan.js';
import type { Json } from '../../support/link-lab.js';
import { upTo } from '../../support/live-engine.js';
import { LiveStream } from '../../support/live-stream.js';
import { meanwhile } from '../../support/meanwhile.js';
import { numbersIn } from '../../support/numbered-packets.js';
import { noProjectFiles } from '../../support/open-descriptors.js';
import { pcapFile } from '../../support/pcap-records.js';
import { RawConnection } from '../../support/raw-client.js';
import { manyUdpPorts, startServer } from '../../support/server-process.js';

const LINKS = 200;
const STALLED = 20;
/** More than connections hold: who does not read falls behind. */
const MUCH = 6000;
const ROUNDS = 30;

void t.test('two hundred captures at once, twice', async (t) => {
  const server = await startServer(t, { environment: { WIREFARM_UDP_PORTS: manyUdpPorts() } });
  const client = new Client(server.url);
  const fan = await LinkFan.make(t, { client, url: server.url }, LINKS);
  const batch = `${fan.lab.links}/batch`;
  const first = [...fan.sent];

  const round = async (): Promise<void> => {
    fan.sent.forEach((sent, flow) => (first[flow] = sent));
    const started = await client.expect(200, 'POST', batch, {
      start_capture: fan.ids.map((link_id) => ({ link_id })),
    });
    t.ok((started['results'] as Json[]).every(({ status }) => status === 201));
    const viewers = await Promise.all(
      fan.links.map((_, flow) => LiveStream.open(t, `${server.url}${fan.at(flow)}/pcap`)),
    );
    const stalled = await Promise.all(
      Array.from({ length: STALLED }, async () => {
        const connection = await RawConnection.open(server.port);
        connection.socket.pause();
        connection.send('GET', `${fan.at(0)}/pcap`);
        return connection;
      }),
    );
    const traffic = async (): Promise<void> => {
      await fan.passAll(ROUNDS);
      const from = fan.sent[0] ?? 0;
      await fan.pass(upTo(MUCH).map((index) => ({ flow: 0, number: from + index, length: 1400 })));
      await fan.passAll(ROUNDS);
    };
    const answers = await meanwhile(traffic(), async (count) => {
      await client.expect(200, 'GET', '/v2/version');
      await client.expect(200, 'GET', `${fan.at(count % LINKS)}/capture`);
      await client.expect(201, 'PUT', fan.at(count % LINKS), { link_style: { width: count } });
    });
    t.comment(`${answers} times three requests were answered meanwhile`);
    const listed = (await client.get(`${fan.lab.path}/captures`)).body as Json[];
    t.equal(listed.filter(({ state }) => state === 'running').length, LINKS);
    const lags = await eventually('all that read have read', async () => {
      const { viewers: shown } = await client.expect(200, 'GET', `${fan.at(0)}/capture`);
      const behind = (shown as { lag_bytes: number }[]).filter(({ lag_bytes: lag }) => lag > 0);
      return behind.length <= STALLED ? behind : undefined;
    });
    t.equal(lags.length, STALLED, 'who does not read is behind');

    for (const connection of stalled) connection.socket.destroy();
    const stopped = await client.expect(200, 'POST', batch, { stop_capture: fan.ids });
    t.ok((stopped['results'] as Json[]).every(({ status }) => status === 201));
    for (const [flow, viewer] of viewers.entries()) {
      const found = pcapFile(await viewer.ended).packets.map((packet) => numbersIn(packet));
      const [begin = 0, end = 0] = [first[flow], fan.sent[flow]];
      const expected = upTo(end)
        .slice(begin)
        .map((number) => ({ flow, number }));
      if (JSON.stringify(found) !== JSON.stringify(expected)) t.same(found, expected, `link ${flow}`);
    }
    for (const flow of upTo(LINKS)) {
      const status = await client.expect(200, 'GET', `${fan.at(flow)}/capture`);
      const packets = (fan.sent[flow] ?? 0) - (first[flow] ?? 0);
      if (status['packets'] !== packets || status['dropped'] !== 0) t.match(status, { packets, dropped: 0 });
    }
  };

  await round();
  await noProjectFiles(server);
  await round();
  await noProjectFiles(server);
  const files = (await client.get(`${fan.lab.path}/captures`)).body as Json[];
  t.equal(files.length, LINKS);
  t.ok(files.every(({ state }) => state === 'finished'));
  t.equal(await server.stop(), 0);
});
