/** A lab in which a number goes up in two files and in the name of a node, one after the other, and a check that it was whole. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { Client } from './client.js';
import { end, type Json, type LabHost } from './link-lab.js';
import { RandomBytes } from './random.js';
import { SnapshotLab } from './snapshot-lab.js';

/** A file of its second node. */
export const DISK = new RandomBytes(2).next(400_000);

const COUNTED = /^N(\d+)$/;

export class CountingLab {
  readonly lab: SnapshotLab;
  readonly #host: LabHost;
  readonly #hub: Json;
  #count = 0;

  private constructor(host: LabHost, lab: SnapshotLab, hub: Json) {
    this.#host = host;
    this.lab = lab;
    this.#hub = hub;
  }

  static async make(host: LabHost, name: string): Promise<CountingLab> {
    const lab = await SnapshotLab.make(host, { name });
    const [hub, other] = [await lab.lab.hub(), await lab.lab.hub()];
    await lab.lab.link([end(hub, 0), end(other, 0)]);
    await lab.write(other, 'disk', DISK);
    const counting = new CountingLab(host, lab, hub);
    await counting.step();
    return counting;
  }

  async step(): Promise<void> {
    const { path } = this.lab;
    const { client } = this.#host;
    const text = String(++this.#count);
    for (const file of ['first', 'second']) await client.expect(201, 'POST', `${path}/files/${file}`, text);
    await client.expect(200, 'PUT', `${path}/nodes/${String(this.#hub['node_id'])}`, { name: `N${text}` });
  }

  /** Counts until the work is done. */
  async during<Result>(work: Promise<Result>): Promise<Result> {
    const state = { isOver: false };
    const over = work.finally(() => {
      state.isOver = true;
    });
    while (!state.isOver) await this.step();
    return over;
  }
}

/** Checks that the lab of a restored server is whole, and that its numbers are those of one moment. */
export async function checkCounts(t: Test, client: Client, path: string): Promise<void> {
  const { path: folder } = await client.expect(201, 'POST', `${path}/open`);
  const nodes = (await client.get(`${path}/nodes`)).body as Json[];
  const links = (await client.get(`${path}/links`)).body as Json[];
  t.same([nodes.length, links.length], [2, 1], 'all nodes and links');
  const read = async (file: string): Promise<number> =>
    Number((await client.get(`${path}/files/${file}`)).text);
  const [first, second] = [await read('first'), await read('second')];
  const names = nodes.map((node) => String(node['name']));
  const third = Number(names.map((name) => COUNTED.exec(name)?.[1]).find((count) => count !== undefined));
  const isOneMoment = first >= second && second >= third && third >= first - 1 && third > 0;
  t.ok(isOneMoment, `of one moment: ${first}, ${second}, ${third}`);
  const other = nodes.find((node) => !COUNTED.test(String(node['name']))) ?? {};
  const disk = join(String(folder), 'project-files/ethernet_hub', String(other['node_id']), 'disk');
  t.ok(readFileSync(disk).equals(DISK), 'the files of nodes');
}
