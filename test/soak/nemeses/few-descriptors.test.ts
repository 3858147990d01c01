/** A server whose descriptors are used up by uploads, captures and connections at once. */
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { getImage, IMAGES, putImage } from '../../support/image-transfers.js';
import { end, LinkLab } from '../../support/link-lab.js';
import { noMoreDescriptors } from '../../support/open-descriptors.js';
import { RandomBytes } from '../../support/random.js';
import { RawConnection } from '../../support/raw-client.js';
import { startServer } from '../../support/server-process.js';

const FEW = 256;
const GREEDY = 150;
const LINKS = 20;
const ROUNDS = 3;
/** Hundreds of connections come and are refused in one turn (Admission). */
const allowedTurnMs = 500;

void t.test('uploads, captures and connections use up all descriptors', async (t) => {
  const server = await startServer(t, { descriptors: FEW, allowedTurnMs });
  const client = new Client(server.url);
  const lab = await LinkLab.make({ client, url: server.url });
  const links: string[] = [];
  for (let count = 0; count < LINKS; count++) {
    const ports = [end(await lab.hub(), 0), end(await lab.hub(), 0)];
    links.push(lab.at(await lab.link(ports)));
  }
  const random = new RandomBytes(11);
  const acknowledged = new Map<string, Buffer>();
  const statuses = new Set<number>();
  for (let round = 0; round < ROUNDS; round++) {
    const greedy = await Promise.all(
      Array.from({ length: 2 * GREEDY }, async (_, index) => {
        const connection = await RawConnection.open(server.port);
        if (index % 2 === 0) return connection;
        connection.send('POST', `${IMAGES}/greedy-${index}`, { headers: { 'Content-Length': '1000000' } });
        connection.write(Buffer.alloc(100_000));
        return connection;
      }),
    );
    const honest = async (): Promise<void> => {
      for (let count = 0; count < 5; count++) {
        const name = `honest-${round}-${count}`;
        const bytes = random.next(100_000);
        const reply = await putImage(server, name, bytes).catch(() => undefined);
        if (reply === undefined) continue;
        statuses.add(reply.status);
        if (reply.status < 300) acknowledged.set(name, bytes);
      }
    };
    const captures = links.map(async (at) => {
      const action = round % 2 === 0 ? 'start_capture' : 'stop_capture';
      const reply = await client.post(`${at}/${action}`, {}).catch(() => undefined);
      if (reply !== undefined) statuses.add(reply.status);
    });
    await Promise.all([honest(), ...captures]);
    for (const connection of greedy) connection.vanish();
    const name = `after-${round}`;
    const bytes = random.next(100_000);
    await eventually('an honest upload is taken', async () => {
      const reply = await putImage(server, name, bytes).catch(() => undefined);
      return reply !== undefined && reply.status < 300 ? true : undefined;
    });
    acknowledged.set(name, bytes);
    for (const at of links) t.equal((await client.get(at)).status, 200);
  }
  t.comment(`answers: ${[...statuses].join(', ')}`);
  t.same(
    [...statuses].filter((status) => status >= 500 && status !== 503),
    [],
  );
  for (const [name, bytes] of acknowledged) t.ok((await getImage(server, name)).body.equals(bytes), name);
  for (const at of links) await client.post(`${at}/stop_capture`, {});
  for (const at of links) {
    t.equal((await client.post(`${at}/start_capture`, {})).status, 201, 'a capture begins');
    await client.post(`${at}/stop_capture`, {});
  }
  await noMoreDescriptors(server, 200);
  t.equal(server.child.exitCode, null, 'it has not crashed');
  t.equal(await server.stop(), 0);
});
