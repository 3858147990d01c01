/** Images of a farm whose servers are killed: what was acknowledged is on another host, and what is being brought comes from others. */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import t from 'tap';
import { EtcdCluster, missingEtcd } from '../../support/etcd.js';
import { eventually } from '../../support/eventually.js';
import { seededRandom } from '../../support/seeded-random.js';
import { startServer, type ServerProcess } from '../../support/server-process.js';

const BASE = '/v2/compute/qemu/images';
const SIZE = 24 * 1024 * 1024;
const SERVERS = [0, 1, 2];

function imageOf(seed: number): Buffer {
  const random = seededRandom(seed);
  const part = Buffer.from(Array.from({ length: 65_537 }, () => Math.floor(random() * 256)));
  const bytes = Buffer.alloc(SIZE, part);
  bytes.write(`QFI\xfb ${seed}`, 'latin1');
  return bytes;
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function digestAt(path: string): Promise<string> {
  const digest = createHash('sha256');
  await pipeline(createReadStream(path), digest);
  return digest.digest('hex');
}

void t.test('images survive their servers', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const flags = ['--farm', etcd.address('images'), '--advertise', 'http://127.0.0.1:0'];
  const servers: ServerProcess[] = [await startServer(t, { flags })];
  while (servers.length < SERVERS.length) servers.push(await startServer(t, { flags }));
  const at = (index: number): ServerProcess => {
    const server = servers[index];
    if (server === undefined) throw new Error('there is no such server');
    return server;
  };
  const fileAt = (index: number, name: string): string => join(at(index).data, 'images/QEMU', name);
  const holdersOf = (name: string): number[] => SERVERS.filter((index) => existsSync(fileAt(index, name)));
  const upload = async (index: number, name: string, body: Buffer): Promise<number> =>
    (await fetch(`${at(index).url}${BASE}/${name}`, { method: 'POST', body })).status;
  const again = async (index: number): Promise<void> => {
    servers[index] = await startServer(t, { flags, data: at(index).data });
  };
  const pull = async (index: number, filename: string): Promise<unknown> =>
    (
      await fetch(`${at(index).url}/v2/images/qemu/pull`, {
        ...{ method: 'POST', body: JSON.stringify({ filename }) },
      })
    ).json();
  for (const index of SERVERS)
    await eventually('the servers know each other', async () => {
      const status = await upload(index, `probe-${index}`, Buffer.from(`QFI\xfb probe ${index}`, 'latin1'));
      return (status === 204 && holdersOf(`probe-${index}`).length === 2) || undefined;
    });

  const kept = imageOf(1);
  t.equal(await upload(1, 'kept.img', kept), 204);
  await at(1).stop('SIGKILL');
  const others = holdersOf('kept.img').filter((index) => index !== 1);
  t.ok(others.length > 0, 'another host has what was acknowledged');
  for (const index of others) t.equal(await digestAt(fileAt(index, 'kept.img')), digestOf(kept));
  await again(1);

  const image = imageOf(3);
  t.equal(await upload(0, 'pulled.img', image), 204);
  const [lacking = 0] = SERVERS.filter((index) => !holdersOf('pulled.img').includes(index));
  const [killed = 0] = holdersOf('pulled.img');
  const pulled = pull(lacking, 'pulled.img');
  await at(killed).logged(/images\/pulled\.img/);
  await at(killed).stop('SIGKILL');
  t.match(await pulled, { sha256: digestOf(image) }, 'the rest comes from another host');
  t.equal(await digestAt(fileAt(lacking, 'pulled.img')), digestOf(image));
  await again(killed);

  // The uploader dies at any moment: an answer means another copy, and nothing else is left of the image under its name.
  const random = seededRandom(19);
  for (let round = 0; round < 2; round++) {
    const name = `cut-${round}.img`;
    const body = imageOf(10 + round);
    const answered = upload(1, name, body).catch(() => 0);
    await Promise.race([answered, new Promise((resolve) => setTimeout(resolve, random() * 400))]);
    await at(1).stop('SIGKILL');
    const status = await answered;
    const holders = holdersOf(name).filter((index) => index !== 1);
    if (status === 204) t.ok(holders.length > 0, 'acknowledged');
    for (const index of holdersOf(name)) t.equal(await digestAt(fileAt(index, name)), digestOf(body));
    if (round === 0) await again(1);
  }
});
