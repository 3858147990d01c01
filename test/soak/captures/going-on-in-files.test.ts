/** A capture goes on in its file when the server has ended or died, and tells the gap. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { after, CapturedLine, numbersOf } from '../../support/captured-line.js';
import type { Json } from '../../support/link-lab.js';
import { LiveStream } from '../../support/live-stream.js';
import { pcapFile } from '../../support/pcap-records.js';
import { startServer } from '../../support/server-process.js';

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  void t.test(`a capture goes on in its file after ${signal}, again and again`, async (t) => {
    const first = await CapturedLine.make(t, await startServer(t));
    const path = await first.capture();
    const { started_at: began } = await first.status();
    await first.pass(1, 2);
    await first.hasWritten(2);
    const { last_packet_at: last } = await first.status();

    const second = first.on(await after(t, first.server, signal));
    await second.isCapturing();
    t.match(await second.status(), { packets: 2, last_packet_at: last });
    await second.pass(3);
    await second.hasWritten(3);
    const viewer = await LiveStream.open(t, `${second.server.url}${second.at}/pcap`);
    const status = await second.status();
    t.match(status, { state: 'running', started_at: began, file_bytes: readFileSync(path).length });
    const [gap] = await second.gaps();
    t.equal(gap?.from, last, 'the gap begins with the last packet before');
    t.ok(gap !== undefined && gap.from < gap.to && gap.to <= String(status['last_packet_at']));
    const [listed] = (await second.client.get(`${second.lab.path}/captures`)).body as Json[];
    t.match(listed, { state: 'running', packets: 3, first_packet_at: status['first_packet_at'] });
    await second.server.logged(/Captures go on \(1\)/);

    const third = second.on(await after(t, second.server, signal));
    if (signal === 'SIGKILL') await t.rejects(viewer.ended);
    else t.equal(pcapFile(await viewer.ended).packets.length, 3, 'a viewer has what was before, too');
    await third.isCapturing();
    await third.pass(4);
    t.match(await third.stop(), { capturing: false });
    t.same(numbersOf(path), [1, 2, 3, 4]);
    t.match(await third.status(), { state: 'stopped', packets: 4, octets: 4 * 50 });
    t.equal((await third.gaps()).length, 2);

    const fourth = third.on(await after(t, third.server, 'SIGKILL'));
    await fourth.isOpen();
    t.match(await fourth.show(), { capturing: false }, 'a stopped capture stays stopped');
    t.equal(await fourth.server.stop(), 0);
    t.notMatch(fourth.server.log(), /capture/i);
  });
}

void t.test('captures end with their project and their link, and do not go on then', async (t) => {
  const server = await startServer(t);
  const [closed, deleted] = [await CapturedLine.make(t, server), await CapturedLine.make(t, server)];
  for (const line of [closed, deleted]) await line.capture();
  await closed.client.expect(204, 'POST', `${closed.lab.path}/close`);
  await closed.client.expect(201, 'POST', `${closed.lab.path}/open`);
  t.match(await closed.show(), { capturing: false });
  await deleted.client.expect(204, 'DELETE', deleted.at);
  const next = closed.on(await after(t, server, 'SIGKILL'));
  await next.isOpen();
  t.match(await next.show(), { capturing: false });
  t.equal(await next.server.stop(), 0);
  t.notMatch(next.server.log(), /capture/i);
});
