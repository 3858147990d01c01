/** Parts of resumable uploads that a cleaner takes away: what is told of them is true. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { getImage } from '../support/image-transfers.js';
import { RandomBytes } from '../support/random.js';
import { startServer } from '../support/server-process.js';
import { image, TusTalk } from '../support/tus.js';

const CONTENT = new RandomBytes(1).next(100_000);

function takeParts(data: string): void {
  const folder = join(data, 'uploads');
  for (const name of readdirSync(folder)) if (name.endsWith('.part')) rmSync(join(folder, name));
}

void t.test('an upload whose part has gone is unknown, and the log says why', async (t) => {
  const server = await startServer(t);
  const tus = new TusTalk(new Client(server.url));
  const path = await tus.created(CONTENT.length, image('a.img'));
  t.equal((await tus.patch(path, 0, CONTENT.subarray(0, 60_000))).status, 204);
  takeParts(server.data);
  t.equal((await tus.head(path)).status, 404);
  t.equal((await tus.patch(path, 60_000, CONTENT.subarray(60_000))).status, 404);
  await server.logged(/taken from the uploads folder/);

  const between = await tus.created(CONTENT.length, image('b.img'));
  t.equal((await tus.patch(between, 0, CONTENT.subarray(0, 60_000))).status, 204);
  await server.stop();
  takeParts(server.data);
  const again = await startServer(t, { data: server.data });
  const later = new TusTalk(new Client(again.url));
  t.equal((await later.head(between)).status, 404, 'it has not landed');
  t.equal((await getImage(again, 'b.img')).status, 409);
  await again.logged(/taken from the uploads folder/);
  t.same(readdirSync(join(server.data, 'uploads')), []);
});
