/** A server that dies or fails at a wanted operation, and a project with two snapshots that must outlive it. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { manifestIds, readPlaces } from '../../src/snapshots/content/manifest.js';
import { objectBehind } from '../../src/snapshots/content/objects.js';
import { asideNames } from './aside-folders.js';
import { finished, resultOf, type Client, type Reply } from './client.js';
import type { FaultMode, FaultPlan } from './fault-plan.js';
import { FaultServer, type Outcome } from './fault-server.js';
import { folderContent, namesIn } from './folder-content.js';
import { gns3Drawing, gns3Link, gns3Node, placeGns3Project, type Json } from './gns3-project.js';
import { parseGns3 } from './gns3-schema.js';
import { RandomBytes } from './random.js';
import { scratchFolder, type Teardown } from './scratch.js';
import type { ServerProcess } from './server-process.js';

const NOT_COMPARED = ['snapshots', 'tmp', 'project-files/captures', 'lab.gns3'];
const CAPTURE = 'project-files/captures/kept.pcap';

export class FaultLab {
  readonly data: string;
  readonly #faulty: FaultServer;
  readonly #bytes = new RandomBytes(6);
  readonly #switch = gns3Node('ethernet_switch', { name: 'SW1', console: null });
  readonly #qemu = gns3Node('qemu', { name: 'Q1', console: null });
  readonly #hub = gns3Node('ethernet_hub', { name: 'Hub1', console: null });
  readonly #place: { readonly id: string; readonly folder: string };

  private constructor(t: Teardown, data: string) {
    this.data = data;
    this.#faulty = new FaultServer(t, data);
    const projects = join(data, 'projects');
    mkdirSync(projects, { recursive: true });
    const [ours, qemu, hub] = [this.#switch, this.#qemu, this.#hub];
    this.#place = placeGns3Project(projects, 'lab', {
      nodes: [ours, qemu, hub],
      links: [
        gns3Link({ node: ours }, { node: hub, port: 0 }),
        gns3Link({ node: qemu }, { node: hub, port: 1 }),
      ],
      drawings: [gns3Drawing({ x: 1 }), gns3Drawing({ x: 2 })],
      head: { auto_close: false, grid_size: 10 },
    });
    writeFileSync(join(this.folder, CAPTURE), 'what was captured');
  }

  /** With the snapshots `first` and `second`, and files that no snapshot has. */
  static async make(t: Teardown, data = scratchFolder(t)): Promise<FaultLab> {
    const lab = new FaultLab(t, data);
    lab.#writeFiles('first');
    await lab.revive();
    await lab.client.expect(201, 'POST', `${lab.base}/snapshots`, { name: 'first' });
    lab.#writeFiles('second');
    await lab.#changeTopology();
    await lab.client.expect(201, 'POST', `${lab.base}/snapshots`, { name: 'second' });
    lab.#writeFiles('present');
    return lab;
  }

  get client(): Client {
    return this.#faulty.client;
  }

  get server(): ServerProcess {
    return this.#faulty.process;
  }

  get base(): string {
    return `/v2/projects/${this.#place.id}`;
  }

  get folder(): string {
    return this.#place.folder;
  }

  get snapshots(): string {
    return join(this.folder, 'snapshots');
  }

  /** A node with files that differ between the snapshots. */
  get node(): string {
    return this.#switch.node_id;
  }

  /** A server where the last one left everything, and in it the project, open. */
  async revive(): Promise<void> {
    await this.#faulty.start();
    await this.open();
  }

  async open(): Promise<void> {
    await this.client.expect(201, 'POST', `${this.base}/open`);
  }

  /** Does it with a fault; afterwards there is a server that works. */
  under(
    plan: { of?: FaultPlan['of']; at: number; mode: FaultMode },
    act: () => Promise<Reply>,
  ): Promise<Outcome> {
    return this.#faulty.under(plan, act, () => this.revive());
  }

  async listed(): Promise<ReadonlyMap<string, string>> {
    const { body } = await this.client.get(`${this.base}/snapshots`);
    return new Map((body as Json[]).map(({ name, snapshot_id: id }) => [String(name), String(id)]));
  }

  async idOf(name: string): Promise<string> {
    return (await this.listed()).get(name) ?? 'none';
  }

  create(name: string): Promise<Reply> {
    return this.client.post(`${this.base}/snapshots`, { name });
  }

  delete(id: string): Promise<Reply> {
    return this.client.delete(`${this.base}/snapshots/${id}`);
  }

  restore(id: string): Promise<Reply> {
    return this.client.post(`${this.base}/snapshots/${id}/restore`);
  }

  /** Answers 201 when it is done, as the restore of the whole project does. */
  async restoreNode(id: string): Promise<Reply> {
    const path = `${this.base}/snapshots/${id}/nodes/${this.node}/restore`;
    const reply = await finished(this.client, 'POST', path);
    return reply.status === 200 ? { ...reply, status: 201 } : reply;
  }

  /** Everything of the project that a snapshot holds, as a text to be compared. */
  async content(): Promise<string> {
    const [nodes, links, drawings] = await Promise.all(
      ['nodes', 'links', 'drawings'].map((kind) => this.client.get(`${this.base}/${kind}`)),
    );
    const project = await this.client.expect(200, 'GET', this.base);
    return JSON.stringify(
      {
        grid: project['grid_size'],
        nodes: byText(nodes?.body),
        links: byText(links?.body),
        drawings: byText(drawings?.body),
        files: folderContent(this.folder, NOT_COMPARED),
      },
      undefined,
      1,
    );
  }

  /** Returns a sentence for everything that is wrong. The server lives and the project is open. */
  async problems(): Promise<string[]> {
    const problems: string[] = [];
    const listed = await this.listed();
    for (const name of ['first', 'second']) if (!listed.has(name)) problems.push(`${name} is not listed`);
    for (const [name, id] of listed) {
      const verdict = await resultOf(this.client, 'POST', `${this.base}/snapshots/${id}/verify`);
      if (verdict['is_whole'] !== true) problems.push(`${name} is damaged: ${JSON.stringify(verdict)}`);
    }
    if (readText(join(this.folder, CAPTURE)) !== 'what was captured') problems.push('the capture is gone');
    return [...problems, ...(await this.#fileProblems())];
  }

  /** Files that a server must have removed by the time at which the project is open. */
  remains(): string[] {
    const inProject = ['snapshots/.work', 'tmp'].flatMap((folder) =>
      namesIn(join(this.folder, folder)).map((name) => `${folder}/${name}`),
    );
    return [...inProject, ...asideNames(this.data)].map((path) => `${path} is left`);
  }

  /** Objects that no snapshot relies on. */
  strayObjects(): string[] {
    const named = new Set(
      manifestIds(this.snapshots).flatMap((id) => readPlaces(this.snapshots, id).objects),
    );
    return namesIn(join(this.snapshots, 'content')).flatMap((name) => {
      const object = objectBehind(name);
      return object === undefined || !named.has(object) ? [`nobody needs ${name}`] : [];
    });
  }

  /** The topology file says what the server says. */
  async #fileProblems(): Promise<string[]> {
    const name = 'lab.gns3';
    const told = await this.client.get(`${this.base}/files/${name}`);
    const text = readText(join(this.folder, name));
    if (told.text !== text) return ['the topology file is not the one that the server shows'];
    const { topology } = parseGns3(text);
    const inFile = [
      topology.nodes.map(({ node_id: id, name, x }) => [id, name, x]),
      topology.links.map(({ link_id: id }) => id),
      topology.drawings.map(({ drawing_id: id, x }) => [id, x]),
    ];
    const [nodes, links, drawings] = await Promise.all(
      ['nodes', 'links', 'drawings'].map(
        async (kind) => (await this.client.get(`${this.base}/${kind}`)).body as Json[],
      ),
    );
    const inServer = [
      nodes?.map(({ node_id: id, name, x }) => [id, name, x]),
      links?.map(({ link_id: id }) => id),
      drawings?.map(({ drawing_id: id, x }) => [id, x]),
    ];
    return byText(inFile) === byText(inServer)
      ? []
      : ['the topology file says something else than the server'];
  }

  /** Files appear under other inodes, as the server writes them. */
  #writeFiles(state: 'first' | 'second' | 'present'): void {
    const ofNode = (node: { node_type: string; node_id: string }): string =>
      `project-files/${node.node_type}/${node.node_id}`;
    const write = (path: string, content: string | Buffer): void => {
      const full = join(this.folder, path);
      mkdirSync(join(full, '..'), { recursive: true });
      rmSync(full, { force: true });
      writeFileSync(full, content);
    };
    const isFirst = state === 'first';
    write('README.txt', `the ${state} text`);
    write('notes/deep/er/notes.txt', `notes of the ${state}`);
    write(`${ofNode(this.#switch)}/startup.vpc`, `set pcname ${state}`);
    write(`${ofNode(this.#switch)}/only-${state}.txt`, 'of one of them');
    write(`${ofNode(this.#switch)}/empty`, '');
    write(`${ofNode(this.#qemu)}/hda_disk.qcow2`, this.#bytes.next(isFirst ? 1_200_000 : 300_001));
    write(`${ofNode(this.#qemu)}/same.bin`, Buffer.alloc(100_000, 7));
    if (isFirst) {
      symlinkSync('startup.vpc', join(this.folder, ofNode(this.#switch), 'link'));
      return;
    }
    rmSync(join(this.folder, ofNode(this.#switch), 'only-first.txt'), { force: true });
    rmSync(join(this.folder, ofNode(this.#switch), 'link'), { force: true });
  }

  async #changeTopology(): Promise<void> {
    await this.client.expect(200, 'PUT', this.base, { grid_size: 20 });
    await this.client.expect(200, 'PUT', `${this.base}/nodes/${this.node}`, { x: 321, name: 'SW2' });
    const hub = await this.client.expect(201, 'POST', `${this.base}/nodes`, {
      name: 'Hub2',
      node_type: 'ethernet_hub',
      compute_id: 'local',
    });
    const nodes = [this.#hub.node_id, String(hub['node_id'])].map((node_id) => ({
      node_id,
      adapter_number: 0,
      port_number: 5,
    }));
    await this.client.expect(201, 'POST', `${this.base}/links`, { nodes });
    const drawings = (await this.client.get(`${this.base}/drawings`)).body as Json[];
    await this.client.expect(204, 'DELETE', `${this.base}/drawings/${String(drawings[0]?.['drawing_id'])}`);
  }
}

function byText(objects: unknown): string {
  if (!Array.isArray(objects)) throw new TypeError('this is no list');
  return JSON.stringify(
    objects.map((object) => (Array.isArray(object) ? byText(object) : JSON.stringify(object))).sort(),
  );
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : 'there is no file';
}
