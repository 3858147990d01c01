/** Snapshots over HTTP: each is the project as of one moment, and what comes back is what was there. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { linkFault } from '../../../src/snapshots/archives/zip-member.js';
import { Client, resultOf } from '../../support/client.js';
import { FileTree } from '../../support/file-trees.js';
import { end, type Json } from '../../support/link-lab.js';
import { Random, testSeed } from '../../support/random.js';
import { startServer } from '../../support/server-process.js';
import { SnapshotLab } from '../../support/snapshot-lab.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };

const WRITES = 5000;
const SNAPSHOTS = 8;
const FILES_BETWEEN = 8000;

void t.test('files that are written one after the other are never there in the other order', async (t) => {
  const lab = await SnapshotLab.make(host);
  const hub = (name: string, node_id: string): Promise<Json> =>
    client.expect(201, 'POST', `${lab.path}/nodes`, {
      name,
      node_id,
      node_type: 'ethernet_hub',
      compute_id: 'local',
    });
  const first = await hub('H1', '11111111-0000-4000-8000-000000000000');
  const second = await hub('H2', '99999999-0000-4000-8000-000000000000');
  // Between those two in the order of paths, so that there is time from looking at the one to looking at the other.
  const between = 'project-files/ethernet_hub/55555555-0000-4000-8000-000000000000';
  mkdirSync(join(lab.folder, between), { recursive: true });
  for (let number = 0; number < FILES_BETWEEN; number++) lab.plant(`${between}/${number}`, '');
  const [a, b] = [
    { node: first, path: 'a' },
    { node: second, path: 'deep/b' },
  ];
  const nodeAt = `${lab.path}/nodes/${String(second['node_id'])}`;
  // Each is answered before the next is sent: a, then b; and beside that c, then the node.
  const writeFiles = async (number: number): Promise<void> => {
    await lab.write(a.node, a.path, String(number));
    await lab.write(b.node, b.path, String(number));
  };
  const changeNode = async (number: number): Promise<void> => {
    await lab.write(second, 'c', String(number));
    await client.expect(200, 'PUT', nodeAt, { x: number });
  };
  await writeFiles(0);
  await changeNode(0);
  let isOver = false;
  const repeat = async (write: (number: number) => Promise<void>): Promise<void> => {
    for (let number = 1; number <= WRITES && !isOver; number++) await write(number);
  };
  const taken: Json[] = [];
  const snapping = async (): Promise<void> => {
    for (let number = 0; number < SNAPSHOTS; number++) taken.push(await lab.take(String(number)));
    isOver = true;
  };
  await Promise.all([repeat(writeFiles), repeat(changeNode), snapping()]);
  const seen: number[] = [];
  for (const snapshot of taken) {
    for (const { node_id: id } of [first, second])
      await resultOf(client, 'POST', `${lab.at(snapshot)}/nodes/${String(id)}/restore`);
    const [inA, inB] = [
      Number((await lab.read(a.node, a.path)).text),
      Number((await lab.read(b.node, b.path)).text),
    ];
    const inNode = Number((await client.expect(200, 'GET', nodeAt))['x']);
    t.ok(inA === inB || inA === inB + 1, `a is ${inA}, b is ${inB}`);
    const inC = Number((await lab.read(second, 'c')).text);
    t.ok(inC === inNode || inC === inNode + 1, `c is ${inC}, the node is ${inNode}`);
    seen.push(inA);
  }
  t.same(
    seen,
    seen.toSorted((left, right) => left - right),
    'a later one is never older',
  );
});

const LINK = 'link ';
const ROUNDS = 10;
const KINDS = ['ethernet_hub', 'ethernet_switch', 'atm_switch', 'frame_relay_switch', 'cloud', 'nat'];
const NAMES = ['R{0}', 'Ünïcode{0}', 'スイッチ{0}', 'x-{0}_y', 'маршрут{0}'];

/** Changes a project by requests, and its files behind the server's back as well. */
class Changes {
  readonly #lab: SnapshotLab;
  readonly #random: Random;
  readonly #tree: FileTree;

  constructor(lab: SnapshotLab, seed: number) {
    this.#lab = lab;
    this.#random = new Random(seed);
    mkdirSync(join(lab.folder, 'project-files'), { recursive: true });
    this.#tree = new FileTree(join(lab.folder, 'project-files', 'vpcs'), seed);
  }

  async make(count: number): Promise<void> {
    this.#tree.change(count * 3);
    for (let done = 0; done < count; done++) await this.#change();
    await client.expect(200, 'PUT', this.#lab.path, {
      scene_width: 1000 + this.#random.below(1000),
      show_grid: this.#random.chance(0.5),
      variables: [{ name: 'V', value: String(this.#random.below(100)) }],
    });
  }

  async #change(): Promise<void> {
    const { path, lab } = this.#lab;
    const nodes = (await client.get(`${path}/nodes`)).body as Json[];
    const chance = this.#random.below(10);
    if (nodes.length < 2 || chance < 3) {
      const made = await client.post(`${path}/nodes`, {
        name: this.#random.pick(NAMES),
        node_type: this.#random.pick(KINDS),
        compute_id: 'local',
        x: this.#random.below(500),
      });
      if (made.status === 201)
        await this.#lab.write(made.body as Json, 'a/b.cfg', `made ${this.#random.below(1000)}`);
      return;
    }
    const node = this.#random.pick(nodes);
    if (chance < 5) {
      // Two that do not fit, or a port that is taken: refused, and that is no matter here.
      const ends = [node, this.#random.pick(nodes)].map((one) => end(one, this.#random.below(4)));
      await lab.post(ends, { filters: this.#random.chance(0.3) ? { delay: [5, 0] } : {} });
    } else if (chance < 6) {
      await client.expect(204, 'DELETE', `${path}/nodes/${String(node['node_id'])}`);
    } else if (chance < 7) {
      await client.expect(201, 'POST', `${path}/drawings`, {
        svg: `<svg><text>${this.#random.below(99)}</text></svg>`,
      });
    } else if (chance < 8) {
      await client.expect(200, 'PUT', `${path}/nodes/${String(node['node_id'])}`, {
        y: this.#random.below(900),
      });
    } else await this.#lab.write(node, `f${this.#random.below(5)}`, 'z'.repeat(this.#random.below(9000)));
  }
}

/** Links that lead out of the project are in no snapshot. */
function withoutStrayLinks(files: ReadonlyMap<string, string>): Map<string, string> {
  const isKept = ([path, what]: readonly [string, string]): boolean =>
    !what.startsWith(LINK) || linkFault(path, what.slice(LINK.length)) === undefined;
  return new Map([...files].filter(isKept));
}

void t.test('generated projects come back to what they were, each time', async (t) => {
  const seed = testSeed(61);
  const lab = await SnapshotLab.make(host);
  const changes = new Changes(lab, seed);
  const random = new Random(seed);
  const kept: { snapshot: Json; objects: Json; files: ReadonlyMap<string, string> }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await changes.make(8);
    const [objects, files] = [await lab.objects(), lab.files()];
    const snapshot = await lab.take(`round ${round}`);
    t.same(await lab.objects(), objects, `${seed}.${round}: taking one changes nothing`);
    t.strictSame([...lab.files()], [...files]);
    kept.push({ snapshot, objects, files: withoutStrayLinks(files) });
  }
  for (let round = 0; round < ROUNDS; round++) {
    const { snapshot, objects, files } = random.pick(kept);
    const name = `${seed}: ${String(snapshot['name'])}`;
    t.same(await lab.damaged(snapshot), [], name);
    if (random.chance(0.3)) rmSync(join(lab.folder, 'project-files'), { recursive: true });
    await lab.restore(snapshot);
    t.same(await lab.objects(), objects, name);
    t.strictSame([...lab.files()], [...files], name);
    t.match(
      await lab.diff(snapshot),
      { nodes: { changed: [] }, files: { added: [], removed: [], changed: [] } },
      name,
    );
    if (!random.chance(0.4) || kept.length < 3) continue;
    const [gone] = kept.splice(random.below(kept.length), 1);
    await lab.remove(gone?.snapshot ?? {});
  }
});
