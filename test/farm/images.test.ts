/** Images of a farm: on as many servers as asked before they are answered, listed and given everywhere, and brought where they are needed. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { startServer } from '../support/server-process.js';

/** An image of a machine, as far as its first bytes tell. */
function imageOf(seed: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.write('QFI\xfb', 'latin1');
  for (let index = 8; index < size; index++) bytes[index] = (index * seed + (index >> 9)) & 0xff;
  return bytes;
}

const digestOf = (bytes: Uint8Array, name = 'sha256'): string => createHash(name).update(bytes).digest('hex');
const BASE = '/v2/compute/qemu/images';

void t.test('three servers share their images', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const flags = ['--farm', etcd.address('images'), '--advertise', 'http://127.0.0.1:0'];
  const first = await startServer(t, { flags });
  const servers = [first, ...(await Promise.all([startServer(t, { flags }), startServer(t, { flags })]))];
  const fileAt = (index: number, name: string): string =>
    join(servers[index]?.data ?? '', 'images/QEMU', name);
  const holdersOf = (name: string): number[] =>
    [...servers.keys()].filter((index) => existsSync(fileAt(index, name)));
  const send = (index: number, method: string, path: string, body?: Uint8Array): Promise<Response> =>
    fetch(`${servers[index]?.url ?? ''}${path}`, { method, ...(body && { body }) });
  const upload = async (index: number, name: string, body: Uint8Array): Promise<number> =>
    (await send(index, 'POST', `${BASE}/${name}`, body)).status;
  const listAt = async (index: number): Promise<unknown> => (await send(index, 'GET', BASE)).json();
  const pull = (index: number, filename: string): Promise<Response> =>
    send(index, 'POST', '/v2/images/qemu/pull', Buffer.from(JSON.stringify({ filename })));
  await Promise.all(
    servers.map((_, index) =>
      eventually('the servers know each other', async () => {
        const probe = `probe-${index}`;
        if ((await upload(index, probe, imageOf(3, 100 + index))) !== 204) return undefined;
        return holdersOf(probe).length === 2 || undefined;
      }),
    ),
  );

  const image = imageOf(7, 4_500_000);
  t.equal(await upload(0, 'lab/one.img', image), 204);
  const holders = holdersOf('lab/one.img');
  t.equal(holders.length, 2, 'another server has it when the upload is answered');
  for (const index of holders) t.equal(digestOf(readFileSync(fileAt(index, 'lab/one.img'))), digestOf(image));
  const without = [0, 1, 2].find((index) => !holders.includes(index)) ?? 0;
  const listed = {
    filename: 'one.img',
    filesize: image.length,
    md5sum: digestOf(image, 'md5'),
    path: 'lab/one.img',
  };

  await t.test('each lists it, and gives it and its parts', async (t) => {
    for (const index of servers.keys()) {
      t.match(
        ((await listAt(index)) as readonly { readonly path: string }[]).find(
          ({ path }) => path === 'lab/one.img',
        ),
        listed,
      );
      const whole = await send(index, 'GET', `${BASE}/lab/one.img`);
      t.equal(digestOf(Buffer.from(await whole.arrayBuffer())), digestOf(image));
    }
    const part = await fetch(`${servers[without]?.url ?? ''}${BASE}/one.img`, {
      headers: { range: 'bytes=4194200-4400000' },
    });
    t.equal(part.status, 206);
    t.ok(Buffer.from(await part.arrayBuffer()).equals(image.subarray(4_194_200, 4_400_001)));
    t.equal(holdersOf('lab/one.img').length, 2, 'a download makes no copy');
    t.equal((await send(without, 'GET', `${BASE}/none.img`)).status, 409);
  });

  await t.test('another content by the same name is refused, and nothing is replaced', async (t) => {
    for (const size of [200, 200_000]) {
      const refused = await send(without, 'POST', `${BASE}/lab/one.img`, imageOf(9, size));
      t.match([refused.status, await refused.json()], [409, { code: 'image_differs' }]);
    }
    t.same(holdersOf('lab/one.img'), holders);
    t.equal(await upload(without, 'lab/one.img', image), 204, 'the same content is taken');
  });

  await t.test('an image is brought to where it is asked for', async (t) => {
    t.equal(await upload(0, 'two.img', image), 204);
    const lacking = [0, 1, 2].find((index) => !holdersOf('two.img').includes(index)) ?? 0;
    const answers = await Promise.all([pull(lacking, 'two.img'), pull(lacking, 'two.img')]);
    for (const answer of answers)
      t.match([answer.status, await answer.json()], [200, { sha256: digestOf(image) }]);
    t.equal(digestOf(readFileSync(fileAt(lacking, 'two.img'))), digestOf(image));
    t.match(await (await pull(lacking, 'none.img')).json(), { code: 'image_missing' });
  });

  await t.test('an image that was put into a folder counts', async (t) => {
    writeFileSync(fileAt(1, 'hand.img'), imageOf(11, 5000));
    await eventually('it is told', async () => {
      await listAt(1);
      return (await pull(2, 'hand.img')).status === 200 || undefined;
    });
    t.equal(digestOf(readFileSync(fileAt(2, 'hand.img'))), digestOf(imageOf(11, 5000)));
  });

  await t.test('wrong bytes are dropped, and right ones come from another server', async (t) => {
    // Each has an image that the other copy of which is spoilt; whoever is asked first is the other one in one of the two cases.
    for (const name of ['s1.img', 's2.img']) {
      const content = imageOf(13, 300_000);
      t.equal(await upload(0, name, content), 204);
      const [lacking = 0] = [0, 1, 2].filter((index) => !holdersOf(name).includes(index));
      const [spoilt = 0] = holdersOf(name).filter((index) => index !== 0);
      writeFileSync(fileAt(spoilt, name), imageOf(17, 300_000));
      for (let round = 0; round < 2; round++) {
        const answer = await pull(lacking, name);
        t.equal(answer.status, 200);
        t.equal(digestOf(readFileSync(fileAt(lacking, name))), digestOf(content));
      }
    }
  });

  await t.test('an image that is deleted is deleted everywhere', async (t) => {
    const client = new Client(servers[2]?.url ?? '');
    t.equal((await client.request('DELETE', `${BASE}/lab/one.img`)).status, 204);
    await eventually('it is gone', () => Promise.resolve(holdersOf('lab/one.img').length === 0 || undefined));
    for (const index of servers.keys()) {
      t.equal((await send(index, 'GET', `${BASE}/lab/one.img`)).status, 409);
      t.notMatch(await listAt(index), [{ path: 'lab/one.img' }]);
    }
    t.equal((await client.request('DELETE', `${BASE}/lab/one.img`)).status, 409);
    t.equal(await upload(1, 'lab/one.img', imageOf(9, 5000)), 204, 'the name is free');
    t.equal(holdersOf('lab/one.img').length, 2);
  });
});
