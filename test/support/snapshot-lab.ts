/** A project of a server, and what clients do with its snapshots. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resultOf, type Reply } from './client.js';
import { recordTree } from './file-trees.js';
import { LinkLab, type Json, type LabHost } from './link-lab.js';
import { NotificationLog, type Notification } from './notification-log.js';

/** A restore leaves these as they are, or writes them anew. */
const NOT_COMPARED = ['snapshots', 'tmp', 'project-files/captures'];

export class SnapshotLab {
  readonly lab: LinkLab;
  readonly path: string;
  readonly snapshots: string;
  /** The folder of the project. */
  readonly folder: string;
  readonly #host: LabHost;

  private constructor(host: LabHost, lab: LinkLab, folder: string) {
    this.#host = host;
    this.lab = lab;
    this.path = lab.path;
    this.snapshots = `${lab.path}/snapshots`;
    this.folder = folder;
  }

  static async make(host: LabHost, settings: Json = {}): Promise<SnapshotLab> {
    return SnapshotLab.of(host, await LinkLab.make(host, settings));
  }

  static async of(host: LabHost, lab: LinkLab): Promise<SnapshotLab> {
    const { path } = await host.client.expect(200, 'GET', lab.path);
    return new SnapshotLab(host, lab, String(path));
  }

  take(name: string, more: Json = {}): Promise<Json> {
    return this.#host.client.expect(201, 'POST', this.snapshots, { name, ...more });
  }

  at({ snapshot_id }: Json): string {
    return `${this.snapshots}/${String(snapshot_id)}`;
  }

  restore(snapshot: Json): Promise<Json> {
    return this.#host.client.expect(201, 'POST', `${this.at(snapshot)}/restore`);
  }

  async remove(snapshot: Json): Promise<void> {
    await this.#host.client.expect(204, 'DELETE', this.at(snapshot));
  }

  async list(): Promise<Json[]> {
    return (await this.#host.client.get(this.snapshots)).body as Json[];
  }

  /** The damage that a check finds. */
  async damaged(snapshot: Json): Promise<unknown> {
    return (await resultOf(this.#host.client, 'POST', `${this.at(snapshot)}/verify`))['damaged'];
  }

  diff(snapshot: Json): Promise<Json> {
    return this.#host.client.expect(200, 'GET', `${this.at(snapshot)}/diff`);
  }

  details(snapshot: Json): Promise<Json> {
    return this.#host.client.expect(200, 'GET', this.at(snapshot));
  }

  nodeFile(node: Json, path: string): string {
    return `${this.path}/nodes/${String(node['node_id'])}/files/${path}`;
  }

  async write(node: Json, path: string, content: string | Uint8Array): Promise<void> {
    await this.#host.client.expect(201, 'POST', this.nodeFile(node, path), content);
  }

  read(node: Json, path: string): Promise<Reply> {
    return this.#host.client.get(this.nodeFile(node, path));
  }

  /** Everything that clients see in the project, and that a restore gives back. */
  async objects(): Promise<Json> {
    const of = async (what: string): Promise<unknown> => (await this.#host.client.get(this.path + what)).body;
    const {
      name: _name,
      auto_start: _start,
      auto_open: _open,
      auto_close: _close,
      ...project
    } = (await of('')) as Json;
    return {
      project,
      nodes: await of('/nodes'),
      links: await of('/links'),
      drawings: await of('/drawings'),
    };
  }

  /** Every file but those that no snapshot has. */
  files(): ReadonlyMap<string, string> {
    const found = new Map(recordTree(this.folder, NOT_COMPARED));
    for (const path of found.keys()) if (!path.includes('/') && path.includes('.gns3')) found.delete(path);
    return found;
  }

  /** Beside what clients may write. */
  plant(path: string, content: string | Uint8Array): void {
    writeFileSync(join(this.folder, path), content);
  }

  /** The project's notifications about the work, without jobs. */
  async told(work: () => Promise<unknown>): Promise<readonly Notification[]> {
    return (await this.lab.told(work)).filter(({ action }) => !action.startsWith('job.'));
  }

  listen(): Promise<NotificationLog> {
    return NotificationLog.open(`${this.#host.url}${this.path}/notifications`);
  }
}
