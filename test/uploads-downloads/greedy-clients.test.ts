/** Clients that take all the places there are and do nothing with them, beside one that uploads. */
import { availableParallelism } from 'node:os';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { getImage, IMAGES, putImage } from '../support/image-transfers.js';
import { RandomBytes } from '../support/random.js';
import { RawConnection, requestBytes } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';
import { image, TusTalk } from '../support/tus.js';

const environment = { WIREFARM_LOG_LEVEL: 'error' };
/** In all loops that write uploads. */
const PLACES = 1024 * Math.max(1, Math.floor(availableParallelism() / 2));
const MOST_PLACES = 4096;
const TOO_MANY_PLACES = 'this machine has so many cores that its places take long to fill';
const MORE = 16;
const AT_ONCE = 20;
const UNFINISHED = 1000;
const CONTENT = new RandomBytes(1).next(300_000);

const skip = PLACES > MOST_PLACES ? TOO_MANY_PLACES : false;

void t.test('uploads that send one byte take no place from one that sends', { skip }, async (t) => {
  // On a busy machine hundreds of them begin in one turn.
  const server = await startServer(t, { environment, allowedTurnMs: 250 });
  const greedy: RawConnection[] = [];
  t.teardown(() => {
    for (const connection of greedy) connection.close();
  });
  const started = requestBytes('POST', `${IMAGES}/greedy.img`, { headers: { 'Content-Length': '70000' } });
  for (let count = 0; count < PLACES + MORE; count += AT_ONCE) {
    const opened = await Promise.all(Array.from({ length: AT_ONCE }, () => RawConnection.open(server.port)));
    for (const connection of opened) connection.write(Buffer.concat([started, Buffer.from('x')]));
    greedy.push(...opened);
  }
  const slow = await RawConnection.open(server.port);
  const headers = { 'Content-Length': String(CONTENT.length) };
  slow.write(requestBytes('POST', `${IMAGES}/slow.img`, { headers }));
  slow.write(CONTENT.subarray(0, 100_000));
  t.equal((await putImage(server, 'honest.img', CONTENT)).status, 204);
  slow.write(CONTENT.subarray(100_000));
  t.equal((await slow.reply('POST')).status, 204);
  slow.close();

  const answered = (): number => greedy.filter((connection) => connection.hasReceived).length;
  await eventually('those that gave way are told', () => (answered() >= MORE + 2 ? true : undefined));
  t.equal(answered(), MORE + 2, 'as many as there were too many, and no more');
  for (const connection of greedy.filter(({ hasReceived }) => hasReceived))
    t.equal((await connection.reply('POST')).status, 503);
  t.ok((await getImage(server, 'honest.img')).body.equals(CONTENT));
  t.ok((await getImage(server, 'slow.img')).body.equals(CONTENT));
  t.equal(server.log(), '');
});

void t.test('resumable uploads without bytes take no place from one that has some', async (t) => {
  const server = await startServer(t, { environment });
  const client = new Client(server.url);
  const tus = new TusTalk(client);
  const begun = await tus.created(CONTENT.length, image('begun.img'));
  t.equal((await tus.patch(begun, 0, CONTENT.subarray(0, 100_000))).status, 204);
  const greedy: string[] = [];
  for (let count = 0; count < UNFINISHED; count += AT_ONCE) {
    const begin = (): Promise<string> => tus.created(1000, image('greedy.img'));
    greedy.push(...(await Promise.all(Array.from({ length: AT_ONCE }, begin))));
  }
  const honest = await tus.created(CONTENT.length, image('honest.img'));
  t.equal((await tus.patch(honest, 0, CONTENT)).status, 204);
  t.ok((await getImage(server, 'honest.img')).body.equals(CONTENT));
  const left = async (): Promise<number> => ((await client.get('/v2/uploads')).body as unknown[]).length;
  await eventually('two give way', async () => ((await left()) === UNFINISHED - 1 ? true : undefined));
  const { status } = await tus.head(greedy.at(-1) ?? '');
  t.equal(status, 200, 'not the newest');
  t.equal(await tus.offset(begun), 100_000, 'what has come is kept');
  t.equal((await tus.patch(begun, 100_000, CONTENT.subarray(100_000))).status, 204);
  t.ok((await getImage(server, 'begun.img')).body.equals(CONTENT));
  t.equal(server.log(), '');
});
