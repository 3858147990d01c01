/** Images by way of the controller, as clients ask for them, and images that nodes use. */
import { writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const data = scratchFolder(t);
mkdirSync(join(data, 'projects'));
placeGns3Project(join(data, 'projects'), 'Closed lab', {
  nodes: [
    gns3Node('qemu', { name: 'Debian1', properties: { hda_disk_image: 'used.img', ram: 256 } }),
    gns3Node('iou', { name: 'IOU1', properties: { path: 'sub\\i86bi.bin' } }),
    gns3Node('dynamips', { name: 'R1', properties: { image: 'c7200.image', platform: 'c7200' } }),
  ],
});
const opened = placeGns3Project(join(data, 'projects'), 'Open lab', {
  nodes: [gns3Node('qemu', { name: 'Debian2', properties: { cdrom_image: 'folder/opened.iso' } })],
});
const server = await startServer(t, { data, environment: { WIREFARM_LOG_LEVEL: 'error' } });
const client = new Client(server.url);
const BASE = '/v2/computes/local/qemu/images';

void t.test('the flow of scripts: the raw body to the controller, an object back', async (t) => {
  const reply = await client.request('POST', `${BASE}/b.img`, 'content b', {
    'Content-Type': 'application/octet-stream',
  });
  t.equal(reply.status, 200);
  t.strictSame(reply.body, {});
  t.equal((await client.request('POST', `${BASE}/a.img`, 'content a')).status, 200);
  t.equal((await client.request('POST', `${BASE}/sub/a.img`, 'content sub')).status, 200);
  t.match(
    ((await client.get(BASE)).body as { filename: string; path: string }[]).map(({ path }) => path),
    ['a.img', 'sub/a.img', 'b.img'],
  );
  const read = await client.request('GET', `${BASE}/sub/a.img`, undefined, { Range: 'bytes=8-' });
  t.same([read.status, read.text], [206, 'sub']);
  t.equal((await client.get(`${BASE}/a.img`)).text, 'content a', 'clients of the controller get it, too');
  for (const name of ['a.img', 'b.img', 'sub/a.img'])
    t.equal((await client.delete(`${BASE}/${name}`)).status, 204);
  t.strictSame((await client.get(`${BASE}/a.img`)).body, {
    code: 'image_missing',
    exception: 'ImageMissingError',
    image: 'a.img',
    message: 'The image a.img is missing',
    status: 409,
  });
});

void t.test('the flow of the desktop client: where to, which version, then directly', async (t) => {
  const name = 'my image #1?.qcow2';
  const asked = `/v2/computes/endpoint/local/qemu/images/${encodeURIComponent(name)}`;
  const { endpoint } = (await client.expect(200, 'GET', asked)) as { endpoint: string };
  t.equal(endpoint, `${server.url}/v2/compute/qemu/images/${encodeURIComponent(name)}`);
  const { pathname, origin } = new URL(endpoint);
  const direct = new Client(origin);
  t.match((await direct.get('/v2/version')).body, { version: String, local: Boolean });
  t.equal((await direct.request('POST', pathname, 'content')).status, 204);
  t.match((await client.get(BASE)).body, [{ filename: name, path: name, filesize: 7 }]);
  t.equal((await client.delete(`${BASE}/${encodeURIComponent(name)}`)).status, 204);
});

void t.test('where computes are asked directly, whatever for', async (t) => {
  const endpointOf = async (id: string, rest: string): Promise<unknown> =>
    (await client.expect(200, 'GET', `/v2/computes/endpoint/${id}/${rest}`))['endpoint'];
  t.equal(
    await endpointOf('local', 'qemu/images/sub/x.img'),
    `${server.url}/v2/compute/qemu/images/sub/x.img`,
  );
  t.equal(await endpointOf('local', 'anything/at/all'), `${server.url}/v2/compute/anything/at/all`);
  for (const [id, host, shown] of [
    ['far', 'lab.example', 'https://lab.example:3443'],
    ['everywhere', '0.0.0.0', 'https://127.0.0.1:3443'],
    ['six', '2001:db8::1', 'https://[2001:db8::1]:3443'],
  ] as const) {
    await client.expect(201, 'POST', '/v2/computes', { compute_id: id, protocol: 'https', host, port: 3443 });
    t.equal(await endpointOf(id, 'qemu/images/x.img'), `${shown}/v2/compute/qemu/images/x.img`);
  }
  t.match((await client.get('/v2/computes/endpoint/unknown/qemu/images/x')).body, {
    status: 404,
    message: "Compute ID unknown doesn't exist",
  });
});

void t.test('computes that are unknown or elsewhere, and emulators that are not there', async (t) => {
  for (const [method, rest] of [
    ['GET', ''],
    ['GET', '/x.img'],
    ['POST', '/x.img'],
    ['DELETE', '/x.img'],
  ] as const) {
    const ask = (compute: string, emulator: string): Promise<{ body: unknown }> =>
      client.request(
        method,
        `/v2/computes/${compute}/${emulator}/images${rest}`,
        method === 'POST' ? 'x' : undefined,
      );
    t.match((await ask('unknown', 'qemu')).body, {
      status: 404,
      message: "Compute ID unknown doesn't exist",
    });
    t.match((await ask('far', 'qemu')).body, {
      status: 409,
      message: `Cannot connect to compute 'https://lab.example:3443' with request ${method} /qemu/images${rest}`,
    });
    t.match((await ask('local', 'virtualbox')).body, {
      status: 404,
      message: `${method} /virtualbox/images${rest} not found`,
    });
    const isList = method === 'GET' && rest === '';
    t.match((await ask('local', 'docker')).body, { status: isList ? 409 : 404, message: /docker/i });
  }
  t.match(
    (await client.get('/v2/computes/local')).body,
    { compute_id: 'local' },
    'other paths are as before',
  );
  t.match((await client.get('/v2/computes/local/ports')).body, { udp_ports: Array });
});

void t.test('an image that a node of a project uses stays, open project or closed', async (t) => {
  await client.expect(201, 'POST', `/v2/projects/${opened.id}/open`);
  const refuses = async (emulator: string, name: string, node: string, project: string): Promise<void> => {
    for (const base of [`/v2/compute/${emulator}/images`, `/v2/computes/local/${emulator}/images`]) {
      const reply = await client.delete(`${base}/${name}`);
      t.match(reply.body, {
        status: 409,
        message: `The image ${name.split('/').at(-1) ?? ''} is used by node ${node} of project ${project}: it was not deleted`,
      });
      t.equal((await client.get(`${base}/${name}`)).status, 200);
    }
  };
  for (const [emulator, name, node, project] of [
    ['qemu', 'used.img', 'Debian1', 'Closed lab'],
    ['iou', 'sub/i86bi.bin', 'IOU1', 'Closed lab'],
    ['dynamips', 'c7200.image', 'R1', 'Closed lab'],
    ['qemu', 'folder/opened.iso', 'Debian2', 'Open lab'],
  ] as const) {
    await client.request('POST', `/v2/compute/${emulator}/images/${name}`, 'content');
    await refuses(emulator, name, node, project);
  }
  for (const name of ['other/opened.iso', 'sub/c7200.image', 'unused.img']) {
    await client.request('POST', `${BASE}/${name}`, 'content');
    t.equal((await client.delete(`${BASE}/${name}`)).status, 204, `${name} is used by nobody`);
  }
  writeFileSync(join(data, 'images', 'old.img'), 'content');
  t.equal((await client.delete(`${BASE}/old.img`)).status, 204);
  const { node_id: id } = (
    (await client.get(`/v2/projects/${opened.id}/nodes`)).body as { node_id: string }[]
  ).at(0) ?? { node_id: '' };
  await client.expect(204, 'DELETE', `/v2/projects/${opened.id}/nodes/${id}`);
  t.equal((await client.delete(`${BASE}/folder/opened.iso`)).status, 204, 'its node has gone');
});

void t.test('nothing went wrong', (t) => {
  t.equal(server.log(), '');
  t.end();
});
