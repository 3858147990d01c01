/** A server that dies or fails at a wanted operation, and everything in it that clients write files of. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asideNames } from './aside-folders.js';
import type { Client, Reply } from './client.js';
import type { FaultMode, FaultPlan } from './fault-plan.js';
import type { Faulty } from './fault-series.js';
import { FaultServer, type Outcome } from './fault-server.js';
import { namesIn } from './folder-content.js';
import { gns3Link, gns3Node, placeGns3Project, type Json } from './gns3-project.js';
import { patience } from './patience.js';
import { scratchFolder, type Teardown } from './scratch.js';

const TRIES = patience(40);
const BETWEEN_MS = 50;

export class WriterLab implements Faulty {
  readonly data: string;
  readonly #faulty: FaultServer;
  readonly #node = gns3Node('docker', { name: 'D1' });
  readonly #hubs = ['Hub1', 'Hub2'].map((name) => gns3Node('ethernet_hub', { name, console: null }));
  readonly #link: Json & { link_id: string };
  /** Leftovers that were reported once. */
  readonly #known = new Set<string>();
  /** Leftovers of the server that was killed last. */
  #ofTheDead: ReadonlySet<string> = new Set();
  readonly #place: { readonly id: string; readonly folder: string };

  private constructor(t: Teardown) {
    this.data = scratchFolder(t);
    const projects = join(this.data, 'projects');
    mkdirSync(projects);
    const [first, second] = this.#hubs;
    if (first === undefined || second === undefined) throw new Error('there are no hubs');
    this.#link = gns3Link({ node: first }, { node: second, port: 1 });
    this.#place = placeGns3Project(projects, 'lab', {
      nodes: [this.#node, ...this.#hubs],
      links: [this.#link],
      head: { auto_close: false },
    });
    this.#faulty = new FaultServer(t, this.data);
  }

  static async make(t: Teardown): Promise<WriterLab> {
    const lab = new WriterLab(t);
    await lab.revive();
    return lab;
  }

  get client(): Client {
    return this.#faulty.client;
  }

  get projectId(): string {
    return this.#place.id;
  }

  /** The project of the lab. */
  get base(): string {
    return `/v2/projects/${this.#place.id}`;
  }

  get folder(): string {
    return this.#place.folder;
  }

  get nodeBase(): string {
    return `${this.base}/nodes/${this.#node.node_id}`;
  }

  get nodeFolder(): string {
    return join(this.folder, 'project-files', 'docker', this.#node.node_id);
  }

  get hubBase(): string {
    return `${this.base}/nodes/${this.#hubs[0]?.node_id ?? ''}`;
  }

  get linkBase(): string {
    return `${this.base}/links/${this.#link.link_id}`;
  }

  under(
    plan: { of?: FaultPlan['of']; at: number; mode: FaultMode },
    act: () => Promise<Reply>,
  ): Promise<Outcome> {
    return this.#faulty.under(plan, act, () => {
      this.#ofTheDead = new Set(this.leftovers());
      return this.revive();
    });
  }

  async revive(): Promise<void> {
    await this.#faulty.start();
    await this.open();
  }

  async open(): Promise<void> {
    await this.client.expect(201, 'POST', `${this.base}/open`);
  }

  /** The names of the projects that are listed. */
  async listed(): Promise<ReadonlyMap<string, string>> {
    const { body } = await this.client.get('/v2/projects');
    return new Map((body as Json[]).map(({ name, project_id: id }) => [String(name), String(id)]));
  }

  /** Files that a finished request has left, except those whose removal was what failed. */
  async left({ operations, hasFired }: Outcome): Promise<string[]> {
    const unknown = (): string[] => this.leftovers().filter((path) => !this.#known.has(path));
    // Some of it goes in the background.
    for (let tries = 0; tries < TRIES && unknown().length > 0; tries++)
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
    const found = unknown();
    for (const path of found) this.#known.add(path);
    return hasFired && /^(unlink|rmdir)/.test(operations.at(-1) ?? '') ? [] : found;
  }

  /** The new server may have files of its own that are not finished: it lands uploads in the background. */
  remains(): string[] {
    return this.leftovers().filter((path) => this.#ofTheDead.has(path));
  }

  /** Beside images digests are written in the background: their folder for that is not looked at. */
  leftovers(): string[] {
    const beside = asideNames(this.data);
    const folders = [join(this.folder, 'tmp'), join(this.data, 'symbols', 'tmp')];
    const temporary = folders.flatMap((folder) => filesBelow(folder).map((name) => `${folder}/${name}`));
    const uploads = namesIn(join(this.data, 'uploads'));
    const records = new Set(uploads.filter((name) => name.endsWith('.json')));
    const strays = uploads.filter((name) => !records.has(name.replace(/\.part$/, '.json')));
    return [...beside, ...temporary, ...strays].map((path) => `${path} is left`);
  }
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ name }) => name);
}

/** Undefined where there is no file. */
export function contentAt(path: string): Buffer | undefined {
  return existsSync(path) ? readFileSync(path) : undefined;
}
