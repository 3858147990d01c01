/**
 * Files of the data folder that are damaged, or that somebody has put something else in place of: the server starts, says
 * in one sentence what is wrong, and everything else can be used; nothing waits for a FIFO, nothing is a fault.
 */
import { cpSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client, finished, type Reply } from '../../support/client.js';
import { PLACING } from '../../../src/lab/projects/folder-layout.js';
import { FILE_DAMAGES } from '../../support/file-damages.js';
import { end, type Json, type LabHost } from '../../support/link-lab.js';
import { Random, testSeed } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { SnapshotLab } from '../../support/snapshot-lab.js';
import { image, OFFSET_STREAM, TUS, TusTalk } from '../../support/tus.js';

const QCOW2 = Buffer.concat([Buffer.from('514649fb', 'hex'), Buffer.alloc(100_000, 'x')]);
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"/>';
const SYMBOL = '/v2/symbols/own.svg/raw';
const IMAGE = '/v2/compute/qemu/images/disk.qcow2';
const [BEFORE, AFTER] = ['before'.repeat(1000), 'after'.repeat(1000)];
const KINDS = Object.keys(FILE_DAMAGES);

/** A project of two hubs, a link, a finished capture, a file and two snapshots. */
interface Lab {
  readonly of: SnapshotLab;
  readonly hub: Json;
  readonly link: Json;
  readonly kept: readonly [Json, Json];
}

async function labOf(host: LabHost, name: string): Promise<Lab> {
  const of = await SnapshotLab.make(host, { name });
  const [hub, other] = [await of.lab.hub(), await of.lab.hub()];
  const link = await of.lab.link([end(hub, 0), end(other, 0)]);
  await of.write(hub, 'disk', BEFORE);
  const first = await of.take('first');
  await of.write(hub, 'disk', AFTER);
  const second = await of.take('second');
  await host.client.expect(201, 'POST', `${of.lab.at(link)}/start_capture`, { capture_file_name: 'kept' });
  await host.client.expect(201, 'POST', `${of.lab.at(link)}/stop_capture`);
  return { of, hub, link, kept: [first, second] };
}

/** The data folder of a server that has ended. */
async function dataFolder(t: Test, data: string) {
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  const host = { client, url: server.url };
  const tus = new TusTalk(client);
  const labs = {
    untouched: await labOf(host, 'untouched'),
    topology: await labOf(host, 'topology'),
    manifest: await labOf(host, 'manifest'),
    pack: await labOf(host, 'pack'),
    index: await labOf(host, 'index'),
    capture: await labOf(host, 'capture'),
    placing: await labOf(host, 'placing'),
  };
  await client.expect(204, 'POST', IMAGE, QCOW2);
  await client.expect(204, 'POST', SYMBOL, SVG);
  const uploads = { record: '', part: '' };
  for (const name of ['record', 'part'] as const) {
    uploads[name] = await tus.created(QCOW2.length, image(`${name}.qcow2`));
    await tus.patch(uploads[name], 0, QCOW2.subarray(0, 1000));
  }
  for (const { of } of Object.values(labs)) await client.expect(204, 'POST', `${of.path}/close`);
  t.equal(await server.stop(), 0);
  return { labs, uploads };
}

/** As when a server died while files took their places: the new one has its place. */
function interruptPlacing({ of, hub }: Lab): string {
  const folder = `project-files/ethernet_hub/${String(hub['node_id'])}`;
  const work = join(of.folder, 'tmp', `x${PLACING}`);
  mkdirSync(join(work, 'old'), { recursive: true });
  writeFileSync(join(work, 'old/0'), BEFORE);
  const inode = String(lstatSync(join(of.folder, folder, 'disk')).ino);
  const journal = { folder, folders: [], files: [{ path: 'disk', inode }] };
  writeFileSync(join(work, 'journal.json'), JSON.stringify(journal));
  return join(work, 'journal.json');
}

type Made = Awaited<ReturnType<typeof dataFolder>>;

/** The files that are damaged, each independent of the others. */
function filesOf(data: string, { labs, uploads }: Made, random: Random): Record<string, string> {
  const one = (folder: string, ending: string): string => {
    const names = readdirSync(folder).filter((name) => name.endsWith(ending));
    return join(folder, random.pick(names));
  };
  const part = (upload: string): string => join(data, 'uploads', upload.slice(upload.lastIndexOf('/') + 1));
  return {
    topology: one(labs.topology.of.folder, '.gns3'),
    manifest: one(join(labs.manifest.of.folder, 'snapshots'), '.manifest'),
    pack: one(join(labs.pack.of.folder, 'snapshots/content'), '.pack'),
    index: one(join(labs.index.of.folder, 'snapshots/content'), '.index'),
    capture: one(join(labs.capture.of.folder, 'project-files/captures'), ''),
    placing: interruptPlacing(labs.placing),
    record: `${part(uploads.record)}.json`,
    part: `${part(uploads.part)}.part`,
    side: join(data, 'images/QEMU/disk.qcow2.md5sum'),
    symbol: join(data, 'symbols/own.svg'),
    own: join(data, 'projects/.wirefarm', random.pick(['deleted', 'making', 'incoming', 'work'])),
  };
}

function damage(path: string, kind: string, random: Random): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true) {
    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, 'a file in the place of a folder');
  }
  FILE_DAMAGES[kind]?.(path, random);
}

/** Asks a damaged server, and remembers what it must not answer. */
class Asking {
  readonly faults: string[] = [];
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const reply = path.endsWith('/verify')
      ? await finished(this.#client, method, path)
      : await this.#client.request(method, path, body, headers);
    if (reply.status >= 500) {
      this.faults.push(`${method} ${path}: ${reply.status} ${reply.text}`);
    }
    return reply;
  }

  /** Expects one of these statuses. */
  async wants(statuses: readonly number[], method: string, path: string, body?: unknown): Promise<Reply> {
    const reply = await this.ask(method, path, body);
    if (reply.status < 500 && !statuses.includes(reply.status)) {
      this.faults.push(`${method} ${path}: ${reply.status} ${reply.text} instead of ${statuses.join(', ')}`);
    }
    return reply;
  }

  /** Everything that can be done with the project, whatever becomes of the snapshots that are there. */
  async use({ of, hub, link }: Lab, opens: readonly number[] = [201]): Promise<void> {
    const { path, lab } = of;
    await this.wants([200], 'GET', `${path}/nodes`);
    const { status } = await this.wants(opens, 'POST', `${path}/open`);
    if (status === 201) {
      await this.wants([201], 'POST', of.nodeFile(hub, 'more'), 'content');
      await this.wants([200], 'GET', of.nodeFile(hub, 'disk'));
      await this.#captures(of, link);
      const { body } = await this.wants([200], 'GET', of.snapshots);
      for (const kept of [...(body as Json[])]) await this.#snapshot(of.at(kept));
      const made = (await this.wants([201], 'POST', of.snapshots, { name: 'new' })).body as Json;
      const verified = (await this.wants([200], 'POST', `${of.at(made)}/verify`)).body as Json;
      if (JSON.stringify(verified['damaged']) !== '[]')
        this.faults.push(`new snapshot: ${JSON.stringify(verified)}`);
      await this.wants([201], 'POST', `${of.at(made)}/restore`);
      // A snapshot whose content is cut refuses it by name; without the snapshots there is always an export.
      await this.wants([200, 409], 'GET', `${path}/export?include_snapshots=yes`);
      await this.wants([200], 'GET', `${path}/export`);
      await this.wants([201], 'POST', `${path}/duplicate`, { name: `copy of ${lab.id}` });
      for (const kept of [made, ...(body as Json[])]) await this.wants([204], 'DELETE', of.at(kept));
      await this.wants([204], 'POST', `${path}/close`);
    }
    await this.wants([204], 'DELETE', path);
  }

  async #snapshot(at: string): Promise<void> {
    await this.ask('GET', at);
    await this.ask('POST', `${at}/verify`);
    await this.ask('GET', `${at}/diff`);
    await this.ask('GET', `${at}/archive`);
    await this.ask('POST', `${at}/restore`);
  }

  async #captures({ path, lab }: SnapshotLab, link: Json): Promise<void> {
    const { body } = await this.wants([200], 'GET', `${path}/captures`);
    for (const { name } of body as Json[]) {
      await this.wants([200], 'GET', `${path}/captures/${String(name)}`);
    }
    await this.wants([201], 'POST', `${lab.at(link)}/start_capture`, { capture_file_name: 'new' });
    await this.wants([201], 'POST', `${lab.at(link)}/stop_capture`);
    await this.wants([200], 'GET', `${path}/captures.tar`);
    await this.ask('DELETE', `${path}/captures/kept.pcap`);
  }

  async upload(path: string, next: number): Promise<void> {
    const { headers, status } = await this.ask('HEAD', path, undefined, TUS);
    const offset = Number(headers.get('upload-offset') ?? next);
    const sent = { ...TUS, 'Upload-Offset': String(offset), 'Content-Type': OFFSET_STREAM };
    if (status === 200) await this.ask('PATCH', path, QCOW2.subarray(offset), sent);
    await this.ask('DELETE', path, undefined, TUS);
  }
}

const ROUNDS = 8;

void t.test('a server whose files are damaged can be used, and says what is wrong', async (t) => {
  const root = scratchFolder(t);
  const [data, whole] = [join(root, 'data'), join(root, 'whole')];
  const made = await dataFolder(t, data);
  renameSync(data, whole);
  const random = new Random(testSeed(71));
  for (let round = 0; round < ROUNDS; round++) {
    rmSync(data, { recursive: true, force: true });
    cpSync(whole, data, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    const damaged = Object.entries(filesOf(data, made, random)).map(([what, path], index) => {
      const kind = KINDS[(round + index) % KINDS.length] ?? '';
      damage(path, kind, random);
      return `${what}: ${kind}`;
    });
    const server = await startServer(t, { data });
    const asking = new Asking(new Client(server.url));
    const { labs, uploads } = made;
    t.equal(((await asking.wants([200], 'GET', '/v2/projects')).body as Json[]).length, 7);
    // A link that leads out of the project is forbidden, whoever made it.
    await asking.use(labs.topology, [201, 403, 409]);
    for (const name of ['manifest', 'pack', 'index', 'capture', 'placing', 'untouched'] as const) {
      await asking.use(labs[name]);
    }
    await asking.wants([200], 'GET', '/v2/uploads');
    for (const upload of Object.values(uploads)) await asking.upload(upload, 1000);
    await asking.wants([200], 'GET', '/v2/compute/qemu/images');
    await asking.wants([200], 'GET', IMAGE);
    await asking.wants([204], 'POST', IMAGE, Buffer.concat([QCOW2, QCOW2]));
    await asking.wants([204], 'DELETE', IMAGE);
    await asking.wants([200], 'GET', '/v2/symbols');
    await asking.ask('GET', SYMBOL);
    await asking.ask('POST', SYMBOL, SVG);
    t.same(asking.faults, [], damaged.join('; '));
    t.equal(await server.stop(), 0);
    t.notMatch(server.log(), /"level":60/);
  }
});
