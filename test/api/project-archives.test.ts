/** Projects as archives over HTTP, out and in. */
import { randomUUID } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CAPTURES } from '../../src/lab/projects/folder-layout.js';
import { Client, finished } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { recordTree, writeFiles } from '../support/file-trees.js';
import { gns3Drawing, gns3Link, gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { end, type Json } from '../support/link-lab.js';
import { NotificationLog } from '../support/notification-log.js';
import {
  archiveFetcher,
  asForm,
  importPath,
  projectArchive,
  sendArchive,
} from '../support/project-archive-lab.js';
import { missingPython, python } from '../support/python.js';
import { RandomBytes } from '../support/random.js';
import { startServer } from '../support/server-process.js';
import { SnapshotLab } from '../support/snapshot-lab.js';
import { plainArchive, zipArchive, LINK } from '../support/zip-archives.js';

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
const host = { client, url: server.url };
const projects = join(server.data, 'projects');
const fetchArchive = archiveFetcher(t, server.url);

const parsed = (bytes: Buffer | undefined): Json => JSON.parse(String(bytes)) as Json;
const nodesIn = (topology: Json): Json[] => (topology['topology'] as { nodes: Json[] }).nodes;
/** All that is on the disk, but for what changes by itself. */
const disk = (): ReadonlyMap<string, string> => recordTree(server.data, ['history', 'state', 'uploads']);

/** With a link, a snapshot, and files of every kind. */
async function filledLab(settings: Json = {}): Promise<SnapshotLab & { readonly node: Json }> {
  const lab = await SnapshotLab.make(host, settings);
  const [near, far] = [await lab.lab.hub('H1'), await lab.lab.hub('H2')];
  await lab.lab.link([end(near, 0), end(far, 0)]);
  await lab.write(near, 'startup.cfg', 'hostname near');
  await lab.write(near, 'deep/スイッチ α', new RandomBytes(1).next(700_000));
  writeFiles(lab.folder, { 'README.txt': 'read me', 'project-files/none': '', 'a.log': 'log' });
  writeFiles(lab.folder, { [`${CAPTURES}/a.pcap`]: 'packets', 'project-files/b_log.txt': 'log' });
  mkdirSync(join(lab.folder, 'project-files/empty'));
  symlinkSync('README.txt', join(lab.folder, 'link'));
  writeFileSync(join(lab.folder, 'project-files/sparse'), 'x');
  truncateSync(join(lab.folder, 'project-files/sparse'), 8 * 1024 * 1024);
  return Object.assign(lab, { node: near });
}

void t.test('an export has what the contract says, in its order, and nothing else', async (t) => {
  const lab = await filledLab({ name: 'Ein "Labor" für ü' });
  await lab.take('one');
  for (const isOpen of [true, false]) {
    if (!isOpen) await client.expect(204, 'POST', `${lab.path}/close`);
    const { archive, content } = await fetchArchive(lab.path);
    const hub = `project-files/ethernet_hub/${String(lab.node['node_id'])}`;
    t.same(
      archive.members.map(({ path, kind }) => `${kind} ${path}`),
      [
        'file project.gns3',
        'file README.txt',
        'link link',
        'folder project-files/empty',
        `file ${hub}/deep/スイッチ α`,
        `file ${hub}/startup.cfg`,
        'file project-files/none',
        'file project-files/sparse',
      ],
    );
    t.equal(content[`${hub}/startup.cfg`]?.toString(), 'hostname near');
    t.equal(content['link']?.toString(), 'README.txt');
    t.equal(parsed(content['project.gns3'])['name'], 'Ein "Labor" für ü');
  }
  const head = await client.request('GET', `${lab.path}/export`);
  t.equal(head.headers.get('content-type'), 'application/gns3project');
  t.equal(
    head.headers.get('content-disposition'),
    'attachment; filename="Ein \\"Labor\\" f_r _.gns3project"; ' +
      "filename*=UTF-8''Ein%20%22Labor%22%20f%C3%BCr%20%C3%BC.gns3project",
  );
  await eventually('nothing is left of it', () => {
    return readdirSync(join(lab.folder, 'snapshots/.work')).length === 0 || undefined;
  });
});

void t.test('python reads all compressions', { skip: missingPython() }, async (t) => {
  const lab = await filledLab({ name: 'compressed' });
  const script =
    'import zipfile,sys,hashlib\nz=zipfile.ZipFile(sys.argv[1])\n' +
    'print([(i.filename,hashlib.sha256(z.read(i)).hexdigest()) for i in z.infolist()][1:])';
  const listings = new Set<string>();
  for (const compression of ['none', 'zip', 'bzip2', 'lzma']) {
    const { path } = await fetchArchive(lab.path, `compression=${compression}`);
    listings.add(python(script, [path]).toString());
  }
  t.equal(listings.size, 1);
  t.match((await client.get(`${lab.path}/export?compression=7z`)).body, {
    status: 400,
    message: 'The compression 7z is not known: choose none, zip, bzip2 or lzma',
  });
});

void t.test('paths of this host stay here, unless they are asked for', async (t) => {
  const compute = { compute_id: 'far', protocol: 'http', host: '192.0.2.7', port: 3080 };
  await client.expect(201, 'POST', '/v2/computes', compute);
  writeFiles(join(server.data, 'images'), { 'QEMU/debian.qcow2': 'a disk', 'IOS/other.image': 'not named' });
  const nodes = [
    gns3Node('qemu', { compute_id: 'far' }),
    gns3Node('iou', { name: 'I', properties: { path: '/opt/gns3/images/IOU/i86bi.bin' } }),
    gns3Node('qemu', { name: 'E', properties: { hda_disk_image: '../../../../etc/passwd' } }),
  ];
  const { id } = placeGns3Project(projects, 'hosted', { nodes, computes: [{ ...compute, name: 'far' }] });
  await client.expect(200, 'POST', '/v2/reload');
  const path = `/v2/projects/${id}`;

  const plain = await fetchArchive(path, 'include_images=YES');
  const told = parsed(plain.content['project.gns3']);
  t.same((told['topology'] as Json)['computes'], []);
  t.match(nodesIn(told), [
    { compute_id: 'local', properties: { hda_disk_image: 'debian.qcow2', mac_address: '0c:f0:32:4e:00:00' } },
    { properties: { path: 'i86bi.bin' } },
    { properties: { hda_disk_image: 'passwd' } },
  ]);
  t.same(
    plain.archive.members.map((member) => member.path),
    ['project.gns3', 'images/QEMU/debian.qcow2', 'project-files'],
  );
  const kept = await fetchArchive(path, 'keep_compute_ids=yes&reset_mac_addresses=Yes&include_images=true');
  const exact = parsed(kept.content['project.gns3']);
  t.match(nodesIn(exact), [
    { compute_id: 'far', properties: { mac_address: null } },
    { properties: { path: '/opt/gns3/images/IOU/i86bi.bin' } },
    {},
  ]);
  t.equal(kept.archive.members.length, 2, 'no image is asked for');
});

void t.test('machines whose content is elsewhere are not exported', async (t) => {
  const nodesOf: readonly [string, Json, string][] = [
    [
      'virtualbox',
      { linked_clone: true },
      'Projects with a linked virtualbox clone node cannot not be exported. Please use Qemu instead.',
    ],
    ['virtualbox', {}, 'Projects with a virtualbox node cannot be exported'],
    ['vmware', {}, 'Projects with a vmware node cannot be exported'],
  ];
  for (const [type, properties, message] of nodesOf) {
    const archive = projectArchive({ content: { nodes: [gns3Node(type, { properties })] } });
    const { body } = await sendArchive(client, archive);
    const path = `/v2/projects/${String((body as Json)['project_id'])}`;
    t.match((await client.get(`${path}/export`)).body, { status: 409, message });
    t.same(readdirSync(join(String((body as Json)['path']), 'snapshots/.work')), []);
  }
});

void t.test('an export that is imported and exported again is the same', async (t) => {
  const lab = await filledLab({ name: 'round trip' });
  const snapshot = await lab.take('before');
  await lab.write(lab.node, 'startup.cfg', 'changed');
  const first = await fetchArchive(lab.path, 'include_snapshots=yes');
  const events = await NotificationLog.open(`${server.url}/v2/notifications`);
  const id = randomUUID();
  for (const [count, query] of [{}, { name: 'round trip' }].entries()) {
    const own = count === 0 ? id : randomUUID();
    const reply = await sendArchive(client, readFileSync(first.path), query, own);
    t.match(
      [reply.status, reply.body],
      [
        201,
        {
          project_id: own,
          name: `round trip-${count + 1}`,
          filename: `round trip-${count + 1}.gns3`,
          status: 'closed',
          auto_open: false,
          auto_start: false,
          auto_close: true,
        },
      ],
    );
  }
  t.equal((await events.next(({ action }) => action === 'project.created')).event['project_id'], id);
  const path = `/v2/projects/${id}`;
  const second = await fetchArchive(path, 'include_snapshots=yes');
  const [before, after] = [parsed(first.content['project.gns3']), parsed(second.content['project.gns3'])];
  const ids = nodesIn(before).map((node, index) => [node['node_id'], nodesIn(after)[index]?.['node_id']]);
  const renamed = (text: string): string =>
    ids.reduce((changed, [then, now]) => changed.replaceAll(String(then), String(now)), text);
  for (const [member, bytes] of Object.entries(first.content)) {
    if (/^project.gns3$|^snapshots/.test(member)) continue;
    t.ok(second.content[renamed(member)]?.equals(bytes), member);
  }
  t.equal(Object.keys(second.content).length, Object.keys(first.content).length);
  t.same(
    nodesIn(after).map(({ name, node_id: nodeId }) => [name, ids.some(([then]) => then === nodeId)]),
    nodesIn(before).map(({ name }) => [name, false]),
    'everything has an id of its own',
  );
  await client.expect(201, 'POST', `${path}/open`);
  const [imported] = (await client.get(`${path}/snapshots`)).body as Json[];
  t.match(imported, { name: 'before', created_at: snapshot['created_at'], project_id: id });
  t.not(imported?.['snapshot_id'], snapshot['snapshot_id']);
  const one = `${path}/snapshots/${String(imported?.['snapshot_id'])}`;
  t.match((await finished(client, 'POST', `${one}/verify`)).body, { is_whole: true });
  await client.expect(201, 'POST', `${one}/restore`);
  const near = String(ids[0]?.[1]);
  t.equal((await client.get(`${path}/nodes/${near}/files/startup.cfg`)).text, 'hostname near');
  const { blocks } = lstatSync(join(projects, id, 'project-files/sparse'));
  t.ok(blocks * 512 < 1024 * 1024, 'what was sparse is sparse');
  events.close();
});

void t.test('an archive with the id that it is imported to keeps its ids', async (t) => {
  const id = randomUUID();
  const [a, b] = [
    gns3Node('ethernet_hub'),
    gns3Node('ethernet_hub', { name: 'other', compute_id: 'unknown' }),
  ];
  const content = { nodes: [a, b], links: [gns3Link({ node: a }, { node: b })], drawings: [gns3Drawing()] };
  const file = `project-files/ethernet_hub/${a.node_id}/x`;
  t.equal((await sendArchive(client, projectArchive({ id, content }, { [file]: 'x' }), {}, id)).status, 201);
  await client.expect(201, 'POST', `/v2/projects/${id}/open`);
  const nodes = (await client.get(`/v2/projects/${id}/nodes`)).body as Json[];
  t.same(
    nodes.map((node) => [node['node_id'], node['compute_id']]),
    [
      [a.node_id, 'local'],
      [b.node_id, 'local'],
    ],
  );
  t.equal(readFileSync(join(projects, id, file), 'utf8'), 'x');
  t.match((await sendArchive(client, projectArchive({ id }), {}, id)).body, {
    status: 409,
    message: /is here already/,
  });
});

void t.test('forms, odd names, and what does not belong into a project', async (t) => {
  const { body, headers } = asForm(
    projectArchive(
      { name: '../a\\b/c' },
      { 'other.gns3': '{}', [`${CAPTURES}/a.pcap`]: 'x', 'tmp/x': 'x', 'deep/own.gns3': 'kept', 'e/': '' },
    ),
  );
  const id = randomUUID();
  const reply = await client.request('POST', importPath(id), body, headers);
  t.match([reply.status, reply.body], [201, { name: '.._a_b_c', filename: '.._a_b_c.gns3' }]);
  t.same([...recordTree(join(projects, id), ['snapshots']).keys()].sort(), [
    '.._a_b_c.gns3',
    'deep',
    'deep/own.gns3',
    'e',
  ]);
  t.match((await client.request('POST', importPath('no-uuid'), 'x')).body, { status: 400 });
  t.match((await sendArchive(client, projectArchive({}), { path: '/tmp/wirefarm-nowhere' })).body, {
    status: 403,
    message: 'The path is not allowed',
  });
});

void t.test('images come along, and replace none', async (t) => {
  const images = join(server.data, 'images');
  writeFiles(images, { 'QEMU/mine.qcow2': 'mine', 'QEMU/same.qcow2': 'same' });
  const events = await NotificationLog.open(`${server.url}/v2/notifications`);
  const archive = projectArchive(
    { name: 'images' },
    {
      'images/QEMU/mine.qcow2': 'theirs',
      'images/QEMU/same.qcow2': 'same',
      'images/IOU/new.bin': 'new',
      'images/QEMU/.hidden': 'x',
    },
  );
  t.equal((await sendArchive(client, archive)).status, 201);
  t.match((await events.next(({ action }) => action === 'log.warning')).event, {
    message: /QEMU\/mine\.qcow2 is here already/,
  });
  t.equal(readFileSync(join(images, 'QEMU/mine.qcow2'), 'utf8'), 'mine');
  t.equal(readFileSync(join(images, 'IOU/new.bin'), 'utf8'), 'new');
  t.equal(lstatSync(join(images, 'IOU/new.bin')).mode & 0o777, 0o755);
  t.equal(readdirSync(join(images, 'QEMU')).includes('.hidden'), false);
  events.close();
});

void t.test('a snapshot that is damaged is left out, and the rest is here', async (t) => {
  const whole = projectArchive({ name: 'inner' }, { 'project-files/then': 'then' });
  const index = ['good', 'bad'].map((name) => ({
    snapshot_id: randomUUID(),
    name,
    created_at: 1,
    description: '',
    filename: `${name}.gns3snapshot`,
    project_id: randomUUID(),
  }));
  const archive = projectArchive(
    { name: 'snapshots' },
    {
      'snapshots/good.gns3snapshot': whole,
      'snapshots/bad.gns3snapshot': whole.subarray(0, 200),
      'snapshots/snapshots.conf': JSON.stringify(index),
    },
  );
  const events = await NotificationLog.open(`${server.url}/v2/notifications`);
  const { body } = await sendArchive(client, archive);
  t.match((await events.next(({ action }) => action === 'log.warning')).event, {
    message: /'bad' was left out/,
  });
  const path = `/v2/projects/${String((body as Json)['project_id'])}`;
  t.match((await client.get(`${path}/snapshots`)).body, [{ name: 'good' }]);
  events.close();
});

void t.test('an archive that cannot be imported changes nothing', async (t) => {
  const text = projectArchive({});
  // Closing writes the topology files, so that nothing writes them later.
  for (const { project_id: id } of (await client.get('/v2/projects')).body as Json[])
    await client.expect(204, 'POST', `/v2/projects/${String(id)}/close`);
  const before = disk();
  const refused: readonly [string, Uint8Array, RegExp][] = [
    ['no archive', Buffer.from('hello'), /not a GNS3 project \(invalid zip\)/],
    ['nothing', Buffer.alloc(0), /not a GNS3 project/],
    ['no project', plainArchive({ a: 'a' }), /project\.gns3 file could not be found/],
    ['no JSON', plainArchive({ 'project.gns3': '{' }), /project\.gns3 file is corrupted/],
    ['another JSON', plainArchive({ 'project.gns3': '{"revision": 9}' }), /Invalid data in topology file/],
    ['upwards', projectArchive({}, { '../../evil': 'x' }), /evil/],
    ['absolute', projectArchive({}, { '/tmp/evil': 'x' }), /evil/],
    ['twice', projectArchive({}, {}, [{ name: 'a' }, { name: 'a' }]), /'a'/],
    ['a link out', projectArchive({}, {}, [{ name: 'l', content: '../../..', mode: LINK }]), /'l'/],
    [
      'through a link',
      projectArchive({}, {}, [
        { name: 'l', content: 'project-files', mode: LINK },
        { name: 'l/x', content: 'x' },
      ]),
      /'l/,
    ],
    ['damage', damaged(projectArchive({}, { x: new RandomBytes(2).next(50_000) })), /'x'/],
  ];
  for (const [what, archive, message] of refused) {
    t.match((await sendArchive(client, archive)).body, { status: 409, message }, what);
    t.same(disk(), before, what);
  }
  for (let length = 0; length < text.length; length += 500) {
    t.equal((await sendArchive(client, text.subarray(0, length))).status, 409, `${length} bytes`);
  }
  t.same(disk(), before);
  t.equal((await sendArchive(client, zipArchive([]))).status, 409);
});

/** In the middle of its content. */
function damaged(archive: Buffer): Buffer {
  const copy = Buffer.from(archive);
  const at = copy.length - 25_000;
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
  return copy;
}

void t.test('the server had nothing to complain of', (t) => {
  t.notMatch(server.log(), /"level":(50|60)/);
  t.end();
});
