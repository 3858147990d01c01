/** A project of a real server, with switches and links, and what its snapshots, exports and imports take. */
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { TRASH } from '../../src/lab/projects/folder-layout.js';
import { ChildServer } from '../child-server.js';
import { call } from '../compute-client.js';
import { syncFile, syncFileSystem } from '../files/command.js';
import { curlDownload, curlUpload } from '../files/curl.js';
import { delayOptions, delaysSince } from '../files/loop-delay.js';
import { MEBI } from '../files/random-file.js';
import { usageOf } from './process-usage.js';
import type { Turn } from './turn.js';

/** From each switch to the next one, the last to the first. */
const LINKS_OF_A_SWITCH = 4;
const LOOK_EVERY_MS = 20;
const MOST_LOOKS = 15_000;

interface ProjectBody {
  readonly project_id: string;
  readonly path: string;
}

export class MeasuredLab {
  readonly #server: ChildServer;
  readonly #delayFile: string;
  readonly #project: ProjectBody;

  private constructor(server: ChildServer, delayFile: string, project: ProjectBody) {
    this.#server = server;
    this.#delayFile = delayFile;
    this.#project = project;
  }

  /** Keeps all it has in the folder. */
  static async start(home: string, links: number): Promise<MeasuredLab> {
    const delayFile = join(home, 'delay.json');
    const args = ['--port', '0', '--data', join(home, 'data')];
    const server = await ChildServer.start('../src/server/main.js', args, delayOptions(delayFile));
    try {
      const project = (await call(`${server.url}/v2/projects`, 'POST', { name: 'bench' })) as ProjectBody;
      const lab = new MeasuredLab(server, delayFile, project);
      await lab.#connect(links);
      return lab;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /** The folder of the project. */
  get folder(): string {
    return this.#project.path;
  }

  createSnapshot(name: string): Promise<Turn> {
    return this.#measured(() => call(`${this.#url}/snapshots`, 'POST', { name }));
  }

  async restore(name: string): Promise<Turn> {
    const wanted = (await this.#snapshots()).find((snapshot) => snapshot.name === name);
    return this.#measured(() =>
      call(`${this.#url}/snapshots/${String(wanted?.snapshot_id)}/restore`, 'POST', {}),
    );
  }

  async deleteSnapshots(): Promise<void> {
    for (const { snapshot_id: id } of await this.#snapshots()) {
      await call(`${this.#url}/snapshots/${id}`, 'DELETE');
    }
    await this.#settled();
  }

  /** To a file by curl, which syncs nothing. */
  export(file: string, compression: 'none' | 'zip'): Promise<Turn> {
    return this.#measured(async () => {
      await curlDownload(`${this.#url}/export?compression=${compression}`, file);
      await syncFile(file);
    });
  }

  /** The new project is looked at, and deleted again; neither is measured. */
  async import(file: string, look: (folder: string) => Promise<void>): Promise<Turn> {
    const url = `${this.#server.url}/v2/projects/${randomUUID()}`;
    const turn = await this.#measured(() =>
      curlUpload({ file, url: `${url}/import?name=imported`, method: 'POST' }),
    );
    const { path } = (await call(url, 'GET')) as ProjectBody;
    await look(path);
    await call(url, 'DELETE');
    // Files of a deleted project go behind the answer, and would slow down the next side.
    const isGone = (): boolean => readdirSync(join(dirname(path), TRASH)).length === 0;
    await until(isGone, 'the files of a deleted project do not go');
    return turn;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  get #url(): string {
    return `${this.#server.url}/v2/projects/${this.#project.project_id}`;
  }

  async #connect(links: number): Promise<void> {
    const nodes: string[] = [];
    for (let count = 0; count < Math.ceil(links / LINKS_OF_A_SWITCH); count++) {
      const node = { name: 'SW{0}', node_type: 'ethernet_switch', compute_id: 'local' };
      nodes.push(((await call(`${this.#url}/nodes`, 'POST', node)) as { node_id: string }).node_id);
    }
    const create = Array.from({ length: links }, (_, link) => {
      const first = Math.floor(link / LINKS_OF_A_SWITCH);
      const port = link % LINKS_OF_A_SWITCH;
      return {
        nodes: [
          { node_id: nodes[first], adapter_number: 0, port_number: port },
          {
            node_id: nodes[(first + 1) % nodes.length],
            adapter_number: 0,
            port_number: LINKS_OF_A_SWITCH + port,
          },
        ],
      };
    });
    await call(`${this.#url}/links/batch`, 'POST', { create });
    const made = ((await call(`${this.#url}/links`, 'GET')) as unknown[]).length;
    if (made !== links) throw new Error(`${made} of ${links} links were made`);
  }

  async #snapshots(): Promise<readonly { readonly snapshot_id: string; readonly name: string }[]> {
    return (await call(`${this.#url}/snapshots`, 'GET')) as { snapshot_id: string; name: string }[];
  }

  /** Does not measure writes that wait for the disk from the turn before. */
  async #measured(work: () => Promise<unknown>): Promise<Turn> {
    const { pid } = this.#server;
    await syncFileSystem(this.folder);
    await delaysSince(pid, this.#delayFile);
    const before = usageOf(pid);
    const start = performance.now();
    await work();
    const answered = performance.now();
    const loop = await delaysSince(pid, this.#delayFile);
    await this.#settled();
    const settled = performance.now();
    const after = usageOf(pid);
    const syncing = performance.now();
    await syncFileSystem(this.folder);
    return {
      seconds: (answered - start) / 1000,
      cpuSeconds: after.cpuSeconds - before.cpuSeconds,
      writtenMiB: (after.writtenOctets - before.writtenOctets) / MEBI,
      served: {
        loop,
        secondsAfterwards: (settled - answered) / 1000,
        syncSeconds: (performance.now() - syncing) / 1000,
      },
    };
  }

  /** Nothing is done for the project any more. */
  async #settled(): Promise<void> {
    const isIdle = async (): Promise<boolean> =>
      ((await call(`${this.#url}/jobs`, 'GET')) as unknown[]).length === 0;
    await until(isIdle, 'the jobs of the project do not end');
  }
}

async function until(isTrue: () => boolean | Promise<boolean>, complaint: string): Promise<void> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    if (await isTrue()) return;
    await setTimeout(LOOK_EVERY_MS);
  }
  throw new Error(complaint);
}
