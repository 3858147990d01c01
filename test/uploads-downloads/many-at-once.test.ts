/** 64 uploads and 64 downloads at the same time, of images of every size. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.js';
import { getImage, putImage, sha256, nothingUnfinished } from '../support/image-transfers.js';
import { descriptorsOf } from '../support/open-descriptors.js';
import { Random, RandomBytes } from '../support/random.js';
import { startServer } from '../support/server-process.js';

const AT_ONCE = 64;
const LARGEST = 8 * 1024 * 1024;

void t.test('each is what it is, and nothing is left', async (t) => {
  const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
  const images = join(server.data, 'images');
  const random = new Random(21);
  const lengths = Array.from({ length: AT_ONCE }, (_, number) => {
    if (number < 4) return [0, 1, LARGEST, 256 * 1024][number] ?? 0;
    return random.below(random.pick([1000, 300_000, LARGEST]));
  });
  const contentOf = (seed: number, number: number): Buffer =>
    new RandomBytes(seed * 1000 + number).next(lengths[number] ?? 0);
  const numbers = [...lengths.keys()];
  // These images are downloaded later; uploading them also starts every thread.
  for (const number of numbers) {
    const reply = await putImage(server, `old-${number}.img`, contentOf(1, number));
    t.equal(reply.status, 204, `old ${number}`);
  }
  await getImage(server, 'old-3.img');
  await nothingUnfinished(images);
  // Threads, which are started as they are needed, have some of their own.
  const opened = (): string[] =>
    descriptorsOf(server).filter((target) => target.startsWith(images) || target.startsWith('socket:'));
  const before = opened().length;

  await Promise.all([
    ...numbers.map(async (number) => {
      const reply = await putImage(server, `new-${number}.img`, contentOf(2, number));
      t.equal(reply.status, 204, `new ${number}`);
    }),
    ...numbers.map(async (number) => {
      const reply = await getImage(server, `old-${number}.img`);
      t.equal(reply.status, 200);
      t.equal(sha256(reply.body), sha256(contentOf(1, number)), `old ${number}`);
    }),
  ]);
  for (const number of numbers) {
    const file = readFileSync(join(images, 'QEMU', `new-${number}.img`));
    t.equal(sha256(file), sha256(contentOf(2, number)), `new ${number}`);
  }
  await nothingUnfinished(images);
  await eventually('no more descriptors than before', () => (opened().length <= before ? true : undefined));
  t.equal(server.log(), '');
});
