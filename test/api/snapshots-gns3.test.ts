/** Snapshots that GNS3 made: archives and their index in the project's folder, over HTTP. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client, resultOf } from '../support/client.js';
import {
  gns3Drawing,
  gns3Link,
  gns3Node,
  gns3Text,
  type Gns3Content,
  type Json,
} from '../support/gns3-project.js';
import { missingPython, python } from '../support/python.js';
import { startServer } from '../support/server-process.js';
import { SnapshotLab } from '../support/snapshot-lab.js';
import { LINK, plainArchive, zipArchive } from '../support/zip-archives.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };
const FIRST = 'aaaaaaaa-0000-4000-8000-000000000001';
const SECOND = 'aaaaaaaa-0000-4000-8000-000000000002';

/** Two hubs with a link, a drawing and a file, as GNS3 would have stored them. */
function content(): Gns3Content & { readonly file: string } {
  const [near, far] = [gns3Node('ethernet_hub', { name: 'near' }), gns3Node('ethernet_hub', { name: 'far' })];
  return {
    nodes: [near, far],
    links: [gns3Link({ node: near }, { node: far })],
    drawings: [gns3Drawing()],
    head: { scene_width: 3333, name: 'as it was called' },
    file: `project-files/ethernet_hub/${near.node_id}/startup.cfg`,
  };
}

class Gns3Lab {
  readonly lab: SnapshotLab;
  readonly folder: string;
  readonly index: Json[] = [];

  private constructor(lab: SnapshotLab) {
    this.lab = lab;
    this.folder = join(lab.folder, 'snapshots');
    mkdirSync(this.folder, { recursive: true });
  }

  static async make(): Promise<Gns3Lab> {
    return new Gns3Lab(await SnapshotLab.make(host));
  }

  get id(): string {
    return this.lab.lab.id;
  }

  topology(of: Gns3Content): string {
    return gns3Text(this.id, 'project', of);
  }

  put(name: string, snapshotId: string, archive: Uint8Array): Json {
    const entry = {
      created_at: 1_600_000_000 + this.index.length,
      description: `Snapshot '${name}' taken on 2020-09-13 at 12:26:40`,
      filename: `${name}.gns3snapshot`,
      name,
      project_id: this.id,
      snapshot_id: snapshotId,
    };
    writeFileSync(join(this.folder, entry.filename), archive);
    this.index.push(entry);
    this.writeIndex();
    return entry;
  }

  writeIndex(): void {
    writeFileSync(join(this.folder, 'snapshots.conf'), JSON.stringify(this.index, undefined, 4));
  }

  readIndex(): Json[] {
    return JSON.parse(readFileSync(join(this.folder, 'snapshots.conf'), 'utf8')) as Json[];
  }
}

void t.test('they are listed, described, verified and compared', async (t) => {
  const made = await Gns3Lab.make();
  const { lab } = made;
  const then = content();
  const one = made.put(
    'one',
    FIRST,
    plainArchive({ 'project.gns3': made.topology(then), [then.file]: 'then' }),
  );
  t.same(await lab.list(), [one]);
  t.match((await client.get(`${lab.path}/stats`)).body, { snapshots: 1 });
  const own = await lab.take('our own');
  t.same(await lab.list(), [one, own], 'beside ours');
  const taken = await client.post(lab.snapshots, { name: 'one' });
  t.same([taken.status, (taken.body as Json)['message']], [409, 'The snapshot name one already exists']);
  const size = readFileSync(join(made.folder, 'one.gns3snapshot')).length;
  t.same(await lab.details(one), {
    ...{ ...one, form: 'gns3', size, unique_size: size, state: 'whole', digest: null },
    ...{ nodes: null, links: null, drawings: null, files: null },
  });
  t.same(await lab.damaged(one), []);
  const ids = (objects: readonly Json[] | undefined, key: string): unknown[] =>
    (objects ?? []).map((object) => object[key]);
  t.match(await lab.diff(one), {
    settings: ['scene_width'],
    nodes: { added: [], removed: ids(then.nodes, 'node_id'), changed: [] },
    links: { added: [], removed: ids(then.links, 'link_id'), changed: [] },
    drawings: { added: [], removed: ids(then.drawings, 'drawing_id'), changed: [] },
    files: { added: [], removed: [then.file], changed: [] },
  });
});

void t.test('the file of another name is taken, too', async (t) => {
  const made = await Gns3Lab.make();
  made.put('one', FIRST, plainArchive({ 'project.gns3': made.topology(content()) }));
  made.index[0] = { ...made.index[0], name: 'called otherwise' };
  made.writeIndex();
  const { status, body } = await client.post(made.lab.snapshots, { name: 'one' });
  t.same([status, (body as Json)['message']], [409, "The snapshot file 'one' already exists"]);
});

void t.test('one is restored: ids, files, links; nothing else of the archive', async (t) => {
  const made = await Gns3Lab.make();
  const { lab } = made;
  const then = content();
  const archive = zipArchive([
    { name: 'project.gns3', content: made.topology(then) },
    { name: then.file, content: 'then', method: 8 },
    { name: 'README.txt', content: 'beside' },
    { name: 'project-files/link', content: 'ethernet_hub', mode: LINK },
    { name: 'project-files/captures/old.pcap', content: 'no capture' },
    { name: 'snapshots/nested.gns3snapshot', content: 'nested' },
  ]);
  const one = made.put('one', FIRST, archive);
  const stray = await lab.lab.hub('stray');
  await lab.write(stray, 'gone', 'gone');
  const told = await lab.told(async () => {
    t.match(await lab.restore(one), { scene_width: 3333, name: /^lab / });
  });
  t.same(
    told.map(({ action }) => action),
    ['node.created', 'node.created', 'link.created', 'drawing.created', 'snapshot.restored'],
  );
  t.same(told.at(-1)?.event, one);
  const nodes = (await client.get(`${lab.path}/nodes`)).body as Json[];
  t.match(
    nodes,
    (then.nodes ?? []).map(({ node_id, name }) => ({ node_id, name })),
  );
  t.match(
    (await client.get(`${lab.path}/links`)).body,
    (then.links ?? []).map(({ link_id }) => ({ link_id })),
  );
  t.same(
    [...lab.files()].map(([path, what]) => `${path} ${what.split(' ')[0] ?? ''}`),
    [
      'README.txt file',
      'project-files folder',
      'project-files/ethernet_hub folder',
      `${then.file.slice(0, then.file.lastIndexOf('/'))} folder`,
      `${then.file} file`,
      'project-files/link link',
    ].sort(),
  );
  t.notOk(existsSync(join(lab.folder, 'project-files/captures')));
  t.same(
    readdirSync(made.folder).filter((name) => name.startsWith('nested')),
    [],
  );
  const none = { added: [], removed: [], changed: [] };
  t.match(await lab.diff(one), { nodes: none, drawings: none, files: none }, 'what came is what it said');

  await lab.write(nodes[0] ?? {}, 'startup.cfg', 'now');
  const id = String(nodes[0]?.['node_id']);
  await client.expect(204, 'DELETE', `${lab.path}/nodes/${id}`);
  await resultOf(client, 'POST', `${lab.at(one)}/nodes/${id}/restore`);
  t.equal((await lab.read(nodes[0] ?? {}, 'startup.cfg')).text, 'then', 'one node of it');
  t.equal(((await client.get(`${lab.path}/links`)).body as Json[]).length, 1);
});

void t.test('drawings in files are restored with their pictures, and stay so', async (t) => {
  const made = await Gns3Lab.make();
  const { lab } = made;
  const bitmap = Buffer.from('89504e470d0a1a0a0000000d494844520000000700000003', 'hex');
  const drawings = ['a.png', 'b.svg', 'gone.png'].map((svg) => gns3Drawing({ svg }));
  const archive = plainArchive({
    'project.gns3': made.topology({ drawings }),
    'project-files/images/a.png': bitmap,
    'project-files/images/b.svg': '<svg><text>b</text></svg>',
  });
  const shown = async (path: string): Promise<unknown[]> =>
    ((await client.get(`${path}/drawings`)).body as Json[]).map(({ svg }) => svg);
  await lab.restore(made.put('one', FIRST, archive));
  const pictures = await shown(lab.path);
  t.match(pictures[0], /^<svg .*height="3" width="7".*data:image\/png;base64,iVBORw0KGgo/);
  t.same(pictures.slice(1), ['<svg><text>b</text></svg>', '<svg></svg>']);
  rmSync(join(lab.folder, 'project-files/images'), { recursive: true });
  await client.expect(204, 'POST', `${lab.path}/close`);
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.same(await shown(lab.path), pictures, 'they need their files no more');
  const { project_id: copy } = await client.expect(201, 'POST', `${lab.path}/duplicate`, { name: 'twin' });
  await client.expect(201, 'POST', `/v2/projects/${String(copy)}/open`);
  t.same(await shown(`/v2/projects/${String(copy)}`), pictures, 'a duplicate has them');
});

void t.test('they are deleted, and the index with the last of them', async (t) => {
  const made = await Gns3Lab.make();
  const { lab } = made;
  const archive = plainArchive({ 'project.gns3': made.topology({}) });
  const [one, two] = [made.put('one', FIRST, archive), made.put('two', SECOND, archive)];
  await client.expect(204, 'DELETE', lab.at(one));
  t.same(made.readIndex(), [two]);
  t.match(readFileSync(join(made.folder, 'snapshots.conf'), 'utf8'), /^\[\n {4}\{\n {8}"created_at"/);
  t.notOk(existsSync(join(made.folder, 'one.gns3snapshot')));
  rmSync(join(made.folder, 'two.gns3snapshot'));
  t.same(await lab.list(), [], 'one without its file is none');
  t.equal((await client.delete(lab.at(two))).status, 404);
  const three = made.put('three', FIRST, archive);
  await client.expect(204, 'DELETE', lab.at(three));
  t.same(await lab.list(), []);
  t.notOk(existsSync(join(made.folder, 'three.gns3snapshot')));
  t.notMatch(readFileSync(join(made.folder, 'snapshots.conf'), 'utf8'), /three/);
});

void t.test('archives from before there was an index', async (t) => {
  const made = await Gns3Lab.make();
  const { lab } = made;
  const then = content();
  const archive = plainArchive({ 'project.gns3': made.topology(then), [then.file]: 'then' });
  for (const name of ['old one_210419_153000', 'odd', 'odd_999999_999999', '../odd_210419_153000'])
    if (!name.includes('/')) writeFileSync(join(made.folder, `${name}.gns3project`), archive);
  const [listed, ...others] = await lab.list();
  t.same(others, []);
  t.match(listed, {
    name: 'old one',
    created_at: Date.UTC(2019, 3, 21, 15, 30) / 1000,
    filename: 'old one_210419_153000.gns3project',
    project_id: made.id,
  });
  const id = String(listed?.['snapshot_id']);
  t.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  await client.expect(204, 'POST', `${lab.path}/close`);
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.same(await lab.list(), [listed], 'its id stays');
  t.same(await lab.damaged(listed ?? {}), []);
  await lab.restore(listed ?? {});
  t.equal((await lab.read((then.nodes ?? [])[0] ?? {}, 'startup.cfg')).text, 'then');
  await client.expect(204, 'DELETE', lab.at(listed ?? {}));
  t.same(await lab.list(), []);
  t.notOk(existsSync(join(made.folder, 'old one_210419_153000.gns3project')));
  t.ok(existsSync(join(made.folder, 'odd.gns3project')), 'what is none stays');
});

void t.test('an index that cannot be read refuses snapshots, and nothing else', async (t) => {
  const made = await Gns3Lab.make();
  const { lab } = made;
  for (const text of ['{', '{"a": 1}', '5', 'null', '[[[']) {
    writeFileSync(join(made.folder, 'snapshots.conf'), text);
    const { status, body } = await client.get(lab.snapshots);
    t.same([status, (body as Json)['message']], [409, 'Could not read snapshot configuration file'], text);
    t.equal((await client.post(lab.snapshots, { name: 'a' })).status, 409);
    await client.expect(204, 'POST', `${lab.path}/close`);
    await client.expect(201, 'POST', `${lab.path}/open`);
    t.equal((await client.get(`${lab.path}/stats`)).status, 200);
  }
  for (const text of ['', '  \n', '[]', '[1, {"name": "half"}, null]']) {
    writeFileSync(join(made.folder, 'snapshots.conf'), text);
    t.same((await client.get(lab.snapshots)).body, [], JSON.stringify(text));
  }
});

void t.test('an index that leads elsewhere', async (t) => {
  const made = await Gns3Lab.make();
  const { lab } = made;
  const archive = plainArchive({ 'project.gns3': made.topology({}) });
  writeFileSync(join(lab.folder, 'outside.gns3snapshot'), archive);
  for (const filename of [
    '../outside.gns3snapshot',
    join(lab.folder, 'outside.gns3snapshot'),
    '.',
    '',
    'snapshots.conf',
  ]) {
    made.index.push({ name: filename, filename, snapshot_id: FIRST, created_at: 5, description: '' });
  }
  made.writeIndex();
  t.same(await lab.list(), []);
  t.equal((await client.delete(`${lab.snapshots}/${FIRST}`)).status, 404);
  t.ok(existsSync(join(lab.folder, 'outside.gns3snapshot')));
});

void t.test('a damaged archive leaves the project as it is', async (t) => {
  const made = await Gns3Lab.make();
  const { lab } = made;
  const node = await lab.lab.hub('H1');
  await lab.write(node, 'startup.cfg', 'now');
  const then = content();
  const topology = made.topology(then);
  const whole = plainArchive({ 'project.gns3': topology, [then.file]: 'then'.repeat(1000) });
  const flipped = Buffer.from(whole);
  const at = whole.indexOf(then.file) + then.file.length + 5;
  flipped[at] = (flipped[at] ?? 0) ^ 0xff;
  const objects = await lab.objects();
  const files = lab.files();
  const damaged: Record<string, Uint8Array> = {
    'is empty': Buffer.alloc(0),
    'is no archive': Buffer.alloc(5000, 7),
    'is cut off': whole.subarray(0, whole.length - 30),
    'is half there': whole.subarray(0, whole.length / 2),
    'has a flipped bit': flipped,
    'has no topology': plainArchive({ [then.file]: 'then' }),
    'has no readable topology': plainArchive({ 'project.gns3': '{', [then.file]: 'then' }),
    'leads outside': plainArchive({ 'project.gns3': topology, '../../../escaped': 'x' }),
    'leads to the root': plainArchive({ 'project.gns3': topology, '/tmp/escaped': 'x' }),
    'has a name twice': zipArchive([
      { name: 'project.gns3', content: topology },
      { name: then.file, content: 'a' },
      { name: then.file, content: 'b' },
    ]),
    'writes through a link': zipArchive([
      { name: 'project.gns3', content: topology },
      { name: 'project-files/out', content: '/tmp', mode: LINK },
      { name: 'project-files/out/escaped', content: 'x' },
    ]),
  };
  for (const [how, archive] of Object.entries(damaged)) {
    made.index.length = 0;
    const bad = made.put(how, FIRST, archive);
    t.match(await lab.damaged(bad), [{ path: `${how}.gns3snapshot`, reason: String }], how);
    const { status, body } = await client.post(`${lab.at(bad)}/restore`);
    t.equal(status, 409, how);
    t.match((body as Json)['message'], /^The snapshot is damaged \(.*\): nothing was changed$/s, how);
    t.same(await lab.objects(), objects, how);
    t.strictSame([...lab.files()], [...files], how);
  }
  t.notOk(existsSync('/tmp/escaped'));
  t.match(
    readdirSync(server.data).sort(),
    readdirSync(server.data)
      .filter((name) => name !== 'escaped')
      .sort(),
  );
  t.equal((await client.get(lab.path)).status, 200);
  t.same(await lab.damaged(await lab.take('ours')), []);
});

const skip = missingPython();
const WRITE = `
import io, sys, zipfile
out = io.BytesIO()
methods = {'none': zipfile.ZIP_STORED, 'zip': zipfile.ZIP_DEFLATED, 'bzip2': zipfile.ZIP_BZIP2, 'lzma': zipfile.ZIP_LZMA}
with zipfile.ZipFile(out, 'w', methods[sys.argv[1]], allowZip64=True) as archive:
    archive.writestr('project.gns3', sys.stdin.buffer.read())
    archive.writestr(sys.argv[2], b'then' * 100000)
sys.stdout.buffer.write(out.getvalue())
`;
void t.test('archives of Python, in every compression', { skip }, async (t) => {
  const made = await Gns3Lab.make();
  const then = content();
  for (const compression of ['none', 'zip', 'bzip2', 'lzma']) {
    made.index.length = 0;
    const topology = Buffer.from(made.topology(then));
    const one = made.put(compression, FIRST, python(WRITE, [compression, then.file], topology));
    t.same(await made.lab.damaged(one), [], compression);
    await made.lab.restore(one);
    const node = (then.nodes ?? [])[0] ?? {};
    t.equal((await made.lab.read(node, 'startup.cfg')).text, 'then'.repeat(100_000), compression);
    await made.lab.write(node, 'startup.cfg', 'now');
  }
});
