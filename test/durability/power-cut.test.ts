/** The power goes at any moment: what was answered with a 2xx is there, the last of it included. */
import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client, finished } from '../support/client.js';
import { NO_POWER_DISK, PowerDisk } from '../support/power-disk.js';
import { Random, RandomBytes, testSeed } from '../support/random.js';
import { rounds } from '../support/rounds.js';
import { manyUdpPorts, startServer } from '../support/server-process.js';
import { tarArchive } from '../support/tar-archive.js';
import { image, TusTalk } from '../support/tus.js';

const SEED = testSeed(20_261_122);
const CUTS = rounds(1, 10);
const FEWEST_ANSWERS = 10;
const MOST_ANSWERS = 150;

type Json = Readonly<Record<string, unknown>>;

/** Says what is wrong with what was acknowledged, if anything is. */
type Check = (client: Client) => Promise<string | undefined>;

/** The state that the server acknowledged, by object. An object that a request is changing may have either state. */
class Acknowledged {
  readonly #checks = new Map<string, Check>();
  readonly #events = new EventEmitter();
  readonly reached = once(this.#events, 'over');
  #answers = 0;
  isOver = false;

  constructor(readonly wanted: number) {}

  /** Does it; `check` holds from its answer on, until something else is done to the same subject. */
  async change(
    subject: string,
    act: () => Promise<{ status: number; text: string }>,
    check: Check,
  ): Promise<void> {
    this.#checks.delete(subject);
    const { status, text } = await act();
    if (this.isOver) return;
    if (status < 200 || status > 299) throw new Error(`${subject}: ${status} ${text}`);
    this.#checks.set(subject, check);
    if (++this.#answers >= this.wanted) this.end();
  }

  end(): void {
    this.isOver = true;
    this.#events.emit('over');
  }

  async problems(client: Client): Promise<string[]> {
    const problems: string[] = [];
    for (const [subject, check] of this.#checks) {
      const problem = await check(client);
      if (problem !== undefined) problems.push(`${subject}: ${problem}`);
    }
    return problems;
  }

  get size(): number {
    return this.#checks.size;
  }
}

const has =
  (path: string, status = 200): Check =>
  async (client) => {
    const reply = await client.get(path);
    return reply.status === status ? undefined : `GET ${path} answers ${reply.status}, not ${status}`;
  };

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const holds =
  (path: string, content: Uint8Array, url: () => string): Check =>
  async () => {
    const response = await fetch(url() + path);
    const found = Buffer.from(await response.arrayBuffer());
    if (response.status !== 200) return `GET ${path} answers ${response.status}`;
    return digestOf(found) === digestOf(content) ? undefined : `${path} has ${found.length} other bytes`;
  };

/** Clients that each do one kind of thing, again and again, until the power goes. */
class Writers {
  readonly #bytes: RandomBytes;

  constructor(
    readonly client: Client,
    readonly known: Acknowledged,
    readonly random: Random,
    /** Where the server is that is asked afterwards. */
    readonly url: () => string,
    readonly name: string,
  ) {
    this.#bytes = new RandomBytes(random.below(2 ** 30));
  }

  async run(project: string, node: string): Promise<void> {
    const base = `/v2/projects/${project}`;
    const works = [
      () => this.#drawing(base),
      () => this.#nodeFile(`${base}/nodes/${node}/files`),
      () => this.#image(),
      () => this.#archive(`${base}/nodes/${node}`),
      () => this.#upload(),
      () => this.#snapshot(base),
      () => this.#project(),
    ];
    await Promise.all(works.map((work) => this.#repeat(work)));
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.known.isOver) {
      await work().catch((error: unknown) => {
        if (!this.known.isOver) throw error;
      });
    }
  }

  async #drawing(base: string): Promise<void> {
    const id = this.random.uuid();
    const path = `${base}/drawings/${id}`;
    const body = { drawing_id: id, svg: '<svg/>', x: this.random.below(100) };
    await this.known.change(path, () => this.client.post(`${base}/drawings`, body), has(path));
    if (this.random.chance(0.3))
      await this.known.change(path, () => this.client.delete(path), has(path, 404));
  }

  /** New and replaced files, also in folders that are not there yet. */
  async #nodeFile(files: string): Promise<void> {
    const folder = this.random.chance(0.3) ? `${this.random.uuid()}/deep/` : '';
    const path = `${files}/${folder}file-${this.random.below(4)}`;
    const content = this.#bytes.next(this.random.below(200_000));
    await this.known.change(path, () => this.client.post(path, content), holds(path, content, this.url));
  }

  async #image(): Promise<void> {
    const path = `/v2/compute/qemu/images/${this.name}-${this.random.below(3)}.img`;
    const content = this.#bytes.next(this.random.pick([5, 60_000, 3_000_000]));
    await this.known.change(path, () => this.client.post(path, content), holds(path, content, this.url));
  }

  async #archive(node: string): Promise<void> {
    const folder = `archive-${this.random.uuid()}`;
    const content = this.#bytes.next(10_000);
    const archive = tarArchive(Array.from({ length: 20 }, (_, index) => [`${folder}/a/${index}`, content]));
    const last = `${node}/files/${folder}/a/19`;
    const act = () => this.client.request('POST', `${node}/files.tar`, archive);
    await this.known.change(folder, act, holds(last, content, this.url));
  }

  async #upload(): Promise<void> {
    const content = this.#bytes.next(300_000);
    const name = `resumed-${this.random.uuid()}.img`;
    const talk = new TusTalk(this.client);
    const path = await talk.created(content.length, image(name));
    const half = content.subarray(0, 150_000);
    await this.known.change(path, () => talk.patch(path, 0, half), offsetIs(path, half.length, this.url));
    const landed = holds(`/v2/compute/qemu/images/${name}`, content, this.url);
    await this.known.change(path, () => talk.patch(path, half.length, content.subarray(half.length)), landed);
  }

  async #snapshot(base: string): Promise<void> {
    const name = `s-${this.random.uuid()}`;
    let id = '';
    const act = async (): Promise<{ status: number; text: string }> => {
      const reply = await this.client.post(`${base}/snapshots`, { name });
      id = String((reply.body as Json | undefined)?.['snapshot_id']);
      return reply;
    };
    await this.known.change(name, act, async (client) => {
      const verdict = await finished(client, 'POST', `${base}/snapshots/${id}/verify`);
      return (verdict.body as Json | undefined)?.['is_whole'] === true ? undefined : verdict.text;
    });
    if (this.random.chance(0.5)) {
      const path = `${base}/snapshots/${id}`;
      await this.known.change(name, () => this.client.delete(path), has(path, 404));
    }
  }

  async #project(): Promise<void> {
    const id = this.random.uuid();
    const path = `/v2/projects/${id}`;
    const body = { project_id: id, name: id, auto_close: false };
    await this.known.change(path, () => this.client.post('/v2/projects', body), has(path));
    if (this.random.chance(0.5))
      await this.known.change(path, () => this.client.delete(path), has(path, 404));
  }
}

function offsetIs(path: string, offset: number, url: () => string): Check {
  return async () => {
    const reply = await fetch(url() + path, { method: 'HEAD', headers: { 'Tus-Resumable': '1.0.0' } });
    const found = Number(reply.headers.get('upload-offset'));
    return reply.status === 200 && found >= offset
      ? undefined
      : `${reply.status}, ${found} bytes of ${offset}`;
  };
}

const disk = PowerDisk.make(t);
const skip = disk === undefined ? NO_POWER_DISK : false;

void t.test('the disk of this test forgets what nobody has synced', { skip }, async (t) => {
  const file = join(disk?.folder ?? '', 'not-synced');
  writeFileSync(file, 'x');
  await disk?.cut();
  await disk?.restorePower();
  t.notOk(existsSync(file));
});

void t.test(`the power is cut ${CUTS} times`, { skip }, async (t) => {
  if (disk === undefined) return;
  t.comment(`seed ${SEED}`);
  for (let round = 0; round < CUTS; round++) await cutOnce(t, disk, round);
});

async function cutOnce(t: Test, disk: PowerDisk, round: number): Promise<void> {
  const random = new Random(SEED + round);
  const options = { data: join(disk.folder, 'data'), environment: { WIREFARM_UDP_PORTS: manyUdpPorts() } };
  const server = await startServer(t, options);
  let url = server.url;
  const client = new Client(url);
  const project = await client.expect(201, 'POST', '/v2/projects', {
    name: `lab-${round}`,
    auto_close: false,
  });
  const base = `/v2/projects/${String(project['project_id'])}`;
  const body = { name: 'SW', node_type: 'ethernet_switch', compute_id: 'local' };
  const node = await client.expect(201, 'POST', `${base}/nodes`, body);
  const known = new Acknowledged(FEWEST_ANSWERS + random.below(MOST_ANSWERS - FEWEST_ANSWERS));
  const writers = new Writers(client, known, random, () => url, `round-${round}`);
  const written = writers
    .run(String(project['project_id']), String(node['node_id']))
    .catch((error: unknown) => {
      t.fail(`round ${round}: ${String(error)}`);
      known.end();
    });
  await known.reached;
  server.child.kill('SIGSTOP');
  await disk.cut();
  await server.stop('SIGKILL');
  await written;
  await disk.restorePower();
  const again = await startServer(t, options);
  url = again.url;
  const survivor = new Client(url);
  await survivor.expect(201, 'POST', `${base}/open`);
  t.strictSame(
    await known.problems(survivor),
    [],
    `round ${round}: ${known.size} subjects after ${known.wanted} answers`,
  );
  t.equal(await again.stop(), 0);
}
