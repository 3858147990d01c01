/** The server dies at any moment, and nothing that it acknowledged is lost. */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { asideNames, projectFolders } from '../support/aside-folders.js';
import { Client, Unanswered, type Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { gns3Problems, parseGns3 } from '../support/gns3-schema.js';
import { rounds } from '../support/rounds.js';
import { scratchFolder } from '../support/scratch.js';
import { seededRandom } from '../support/seeded-random.js';
import { manyUdpPorts, startServer } from '../support/server-process.js';

const ROUNDS = rounds(1, 8);
const CONNECTIONS = 6;
const PORTS = 8;
const SEED = Number(process.env['WIREFARM_TEST_SEED'] ?? Date.now() % 1_000_000);

type Json = Readonly<Record<string, unknown>>;
type Kind = 'node' | 'drawing' | 'link' | 'project';
const KINDS = ['node', 'drawing', 'link', 'project'] as const;

/** Something that the client made: what the server must say of it. */
interface Thing {
  readonly kind: Kind;
  /** Undefined while it does not exist. */
  state: Json | undefined;
  /** A request on it is under way. */
  isBusy: boolean;
  /** A node's id, a drawing's id; the server's own id of a link. */
  id: string;
  /** The two ends of a link. */
  readonly ends: readonly (readonly [node: Thing, port: number])[];
}

/** A request, and what it makes of the things it is about when it succeeds: all of it or nothing. */
interface Change {
  readonly method: string;
  readonly path: string;
  readonly body?: Json;
  readonly success: number;
  readonly effects: readonly (readonly [thing: Thing, state: Json | undefined])[];
  readonly onSuccess?: (body: Json) => void;
}

class Lab {
  readonly settings: Thing;
  readonly things = new Set<Thing>();

  constructor(readonly id: string) {
    this.settings = { kind: 'project', state: undefined, isBusy: false, id, ends: [] };
  }

  get base(): string {
    return `/v2/projects/${this.id}`;
  }

  idle(kind: Kind): Thing[] {
    return [...this.things].filter(
      (thing) => thing.kind === kind && !thing.isBusy && thing.state !== undefined,
    );
  }

  linksOf(node: Thing): Thing[] {
    return [...this.things].filter(({ kind, ends }) => kind === 'link' && ends.some(([end]) => end === node));
  }

  add(kind: Kind, id: string, ends: Thing['ends'] = []): Thing {
    const thing: Thing = { kind, id, ends, state: undefined, isBusy: false };
    this.things.add(thing);
    return thing;
  }
}

/** Sends random changes, and knows what must have become of them. */
class Workload {
  readonly labs: Lab[] = [];
  readonly #random: () => number;
  #client = new Client('');
  #counter = 0;
  #acknowledged = 0;
  #unanswered: Change[] = [];
  #isDown = true;
  readonly #problems: string[] = [];

  constructor(random: () => number) {
    this.#random = random;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  get unanswered(): number {
    return this.#unanswered.length;
  }

  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Works until the server is gone. */
  async run(url: string): Promise<void> {
    this.#client = new Client(url);
    this.#isDown = false;
    await Promise.all(Array.from({ length: CONNECTIONS }, () => this.#connection()));
  }

  /** Compares with what the restarted server says; what was unanswered may have happened or not. */
  async check(url: string): Promise<string[]> {
    const client = new Client(url);
    const problems: string[] = [];
    const listed = new Map(
      ((await client.get('/v2/projects')).body as Json[]).map((project) => [
        String(project['project_id']),
        project,
      ]),
    );
    const observed = new Map<Thing, Json | undefined>();
    for (const lab of this.labs) {
      const project = listed.get(lab.id);
      listed.delete(lab.id);
      observed.set(lab.settings, project);
      if (project === undefined) {
        for (const thing of lab.things) observed.set(thing, undefined);
        continue;
      }
      await client.expect(201, 'POST', `${lab.base}/open`);
      problems.push(...(await this.#observe(client, lab, observed)));
    }
    for (const id of listed.keys()) problems.push(`project ${id} was never asked for`);

    for (const change of this.#unanswered.splice(0)) {
      const isDone = change.effects.every(([thing, state]) => isSame(observed.get(thing), state));
      const isUndone = change.effects.every(([thing]) => isSame(observed.get(thing), thing.state));
      if (!isDone && !isUndone) problems.push(`half done: ${change.method} ${change.path}`);
      for (const [thing, state] of change.effects) {
        thing.isBusy = false;
        if (isDone) thing.state = state;
      }
    }
    for (const lab of this.labs) {
      for (const thing of [lab.settings, ...lab.things]) {
        const seen = observed.get(thing);
        if (!isSame(seen, thing.state)) {
          const wanted = JSON.stringify(thing.state);
          problems.push(`${thing.kind} ${thing.id} is ${JSON.stringify(seen)}, not ${wanted}`);
        }
        if (thing.state === undefined) lab.things.delete(thing);
      }
    }
    for (const [index, lab] of [...this.labs.entries()].reverse()) {
      if (lab.settings.state === undefined) this.labs.splice(index, 1);
    }
    return problems;
  }

  async #observe(client: Client, lab: Lab, observed: Map<Thing, Json | undefined>): Promise<string[]> {
    const problems: string[] = [];
    const nodes = new Set<string>();
    for (const kind of KINDS.slice(0, 3)) {
      const objects = (await client.get(`${lab.base}/${kind}s`)).body as Json[];
      const seen = new Set<string>();
      for (const object of objects) {
        const id = String(object[`${kind}_id`]);
        if (seen.has(id)) problems.push(`${kind} ${id} is there twice`);
        seen.add(id);
        if (kind === 'node') nodes.add(id);
        const ends = kind === 'link' ? endsOf(object) : undefined;
        for (const end of ends ?? []) {
          if (!nodes.has(end.node_id)) problems.push(`link ${id} has a missing node`);
        }
        const thing = [...lab.things].find(
          (known) => known.kind === kind && (ends === undefined ? known.id === id : hasEnds(known, ends)),
        );
        if (thing === undefined) problems.push(`${kind} ${id} was never asked for`);
        else if (observed.has(thing)) problems.push(`${kind} ${id} is there twice`);
        else {
          observed.set(thing, object);
          if (kind === 'link') thing.id = id;
        }
      }
    }
    return problems;
  }

  async #connection(): Promise<void> {
    while (!this.#isDown) {
      const work = this.#next();
      if (work === undefined) await pause(1);
      else await work();
    }
  }

  async #send(change: Change): Promise<void> {
    for (const [thing] of change.effects) thing.isBusy = true;
    const reply = await this.#request(change.method, change.path, change.body);
    if (reply === undefined) {
      this.#unanswered.push(change);
      return;
    }
    if (reply.status !== change.success) {
      this.#problems.push(`${change.method} ${change.path}: ${reply.status} ${reply.text}`);
    } else {
      this.#acknowledged++;
      for (const [thing, state] of change.effects) thing.state = state;
      change.onSuccess?.((reply.body ?? {}) as Json);
    }
    for (const [thing] of change.effects) thing.isBusy = false;
  }

  /** Undefined when the server died before it answered. */
  async #request(method: string, path: string, body?: Json): Promise<Reply | undefined> {
    try {
      return await this.#client.request(method, path, body);
    } catch (error) {
      if (!(error instanceof Unanswered)) this.#problems.push(String(error));
      this.#isDown = true;
      return undefined;
    }
  }

  /** A random piece of work, when there is one that does not disturb another. */
  #next(): (() => Promise<void>) | undefined {
    const lab = this.#pick(
      this.labs.filter(({ settings }) => settings.state !== undefined && !settings.isBusy),
    );
    if (this.labs.length < 3 || lab === undefined) return this.#newProject();
    if (this.labs.length < 8 && this.#random() < 0.02) return this.#newProject();
    const dice = this.#random();
    if (dice < 0.03) return this.#renamedProject(lab);
    if (dice < 0.05) return this.#readFile(lab);
    if (dice < 0.06 && this.labs.length > 3) return this.#deletedProject(lab);
    if (dice < 0.25) return this.#newNode(lab);
    if (dice < 0.4) return this.#changedNode(lab);
    if (dice < 0.45) return this.#deletedNode(lab);
    if (dice < 0.55) return this.#newDrawing(lab);
    if (dice < 0.65) return this.#changedDrawing(lab);
    if (dice < 0.7) return this.#deletedDrawing(lab);
    if (dice < 0.85) return this.#newLink(lab);
    if (dice < 0.95) return this.#changedLink(lab);
    return this.#deletedLink(lab);
  }

  #newProject(): () => Promise<void> {
    const lab = new Lab(randomUUID());
    this.labs.push(lab);
    const settings = { name: this.#name('lab'), auto_close: false };
    return () =>
      this.#send({
        method: 'POST',
        path: '/v2/projects',
        body: { ...settings, project_id: lab.id },
        success: 201,
        effects: [[lab.settings, settings]],
      });
  }

  #renamedProject(lab: Lab): () => Promise<void> {
    const settings = { name: this.#name('renamed'), scene_width: this.#whole(5000) };
    return () =>
      this.#send({
        method: 'PUT',
        path: lab.base,
        body: settings,
        success: 200,
        effects: [[lab.settings, { ...lab.settings.state, ...settings }]],
      });
  }

  #deletedProject(lab: Lab): (() => Promise<void>) | undefined {
    if ([...lab.things].some(({ isBusy }) => isBusy)) return undefined;
    const all = [lab.settings, ...lab.things];
    return () =>
      this.#send({
        method: 'DELETE',
        path: lab.base,
        success: 204,
        effects: all.map((thing) => [thing, undefined]),
        onSuccess: () => {
          this.labs.splice(this.labs.indexOf(lab), 1);
        },
      });
  }

  /** Reading the topology file has it written first. */
  #readFile(lab: Lab): () => Promise<void> {
    return async () => {
      const project = await this.#request('GET', lab.base);
      if (project?.status !== 200) return;
      const filename = String((project.body as Json)['filename']);
      const reply = await this.#request('GET', `${lab.base}/files/${filename}`);
      if (reply?.status !== 200) return;
      this.#problems.push(...gns3Problems(reply.text).map((problem) => `${filename}: ${problem}`));
    };
  }

  #newNode(lab: Lab): () => Promise<void> {
    const node = lab.add('node', randomUUID());
    const state = {
      name: this.#name('switch-'),
      x: this.#whole(1000),
      y: this.#whole(1000),
      z: this.#whole(9),
    };
    return () =>
      this.#send({
        method: 'POST',
        path: `${lab.base}/nodes`,
        body: { ...state, node_id: node.id, node_type: 'ethernet_switch', compute_id: 'local' },
        success: 201,
        effects: [[node, state]],
      });
  }

  #changedNode(lab: Lab): (() => Promise<void>) | undefined {
    const node = this.#pick(lab.idle('node'));
    if (node === undefined) return undefined;
    const moved = { x: this.#whole(1000) + 2000 + this.#counter++, y: this.#whole(1000) };
    const changes = this.#random() < 0.4 ? { ...moved, name: this.#name('renamed-') } : moved;
    return () =>
      this.#send({
        method: 'PUT',
        path: `${lab.base}/nodes/${node.id}`,
        body: changes,
        success: 200,
        effects: [[node, { ...node.state, ...changes }]],
      });
  }

  /** The node's links go with it. */
  #deletedNode(lab: Lab): (() => Promise<void>) | undefined {
    const node = this.#pick(lab.idle('node'));
    if (node === undefined) return undefined;
    const all = [node, ...lab.linksOf(node)];
    if (all.some(({ isBusy }) => isBusy)) return undefined;
    return () =>
      this.#send({
        method: 'DELETE',
        path: `${lab.base}/nodes/${node.id}`,
        success: 204,
        effects: all.map((thing) => [thing, undefined]),
        onSuccess: () => {
          for (const thing of all) lab.things.delete(thing);
        },
      });
  }

  #newDrawing(lab: Lab): () => Promise<void> {
    const drawing = lab.add('drawing', randomUUID());
    const state = {
      svg: this.#svg(),
      x: this.#whole(1000),
      y: this.#whole(1000),
      rotation: this.#whole(300),
    };
    return () =>
      this.#send({
        method: 'POST',
        path: `${lab.base}/drawings`,
        body: { ...state, drawing_id: drawing.id },
        success: 201,
        effects: [[drawing, state]],
      });
  }

  #changedDrawing(lab: Lab): (() => Promise<void>) | undefined {
    const drawing = this.#pick(lab.idle('drawing'));
    if (drawing === undefined) return undefined;
    const changes = { svg: this.#svg(), x: this.#whole(1000) };
    return () =>
      this.#send({
        method: 'PUT',
        path: `${lab.base}/drawings/${drawing.id}`,
        body: changes,
        success: 201,
        effects: [[drawing, { ...drawing.state, ...changes }]],
      });
  }

  #deletedDrawing(lab: Lab): (() => Promise<void>) | undefined {
    const drawing = this.#pick(lab.idle('drawing'));
    return drawing && this.#deleted(lab, drawing, `${lab.base}/drawings/${drawing.id}`);
  }

  #newLink(lab: Lab): (() => Promise<void>) | undefined {
    const nodes = lab.idle('node');
    const first = this.#pick(nodes);
    const second = this.#pick(nodes.filter((node) => node !== first));
    if (first === undefined || second === undefined) return undefined;
    const ends = [first, second].map((node) => [node, this.#freePort(lab, node)] as const);
    if (ends.some(([, port]) => port === -1)) return undefined;
    const link = lab.add('link', 'unknown', ends);
    const state = { suspend: this.#random() < 0.5, link_style: { width: this.#whole(9) } };
    // The nodes stay as they are, but must not be deleted meanwhile.
    const held = ends.map(([node]) => [node, node.state] as const);
    return () =>
      this.#send({
        method: 'POST',
        path: `${lab.base}/links`,
        body: {
          ...state,
          nodes: ends.map(([node, port]) => ({ node_id: node.id, adapter_number: 0, port_number: port })),
        },
        success: 201,
        effects: [[link, state], ...held],
        onSuccess: (body) => {
          link.id = String(body['link_id']);
        },
      });
  }

  #changedLink(lab: Lab): (() => Promise<void>) | undefined {
    const link = this.#pick(lab.idle('link'));
    if (link === undefined) return undefined;
    const changes = { suspend: this.#random() < 0.5, link_style: { width: 10 + this.#counter++ } };
    return () =>
      this.#send({
        method: 'PUT',
        path: `${lab.base}/links/${link.id}`,
        body: changes,
        success: 201,
        effects: [[link, { ...link.state, ...changes }]],
      });
  }

  #deletedLink(lab: Lab): (() => Promise<void>) | undefined {
    const link = this.#pick(lab.idle('link'));
    return link && this.#deleted(lab, link, `${lab.base}/links/${link.id}`);
  }

  #deleted(lab: Lab, thing: Thing, path: string): () => Promise<void> {
    return () =>
      this.#send({
        method: 'DELETE',
        path,
        success: 204,
        effects: [[thing, undefined]],
        onSuccess: () => {
          lab.things.delete(thing);
        },
      });
  }

  #freePort(lab: Lab, node: Thing): number {
    const used = lab.linksOf(node).flatMap(({ ends }) => ends.filter(([end]) => end === node));
    const ports = Array.from({ length: PORTS }, (_, port) => port);
    return ports.find((port) => !used.some(([, taken]) => taken === port)) ?? -1;
  }

  #pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#random() * items.length)];
  }

  #whole(below: number): number {
    return Math.floor(this.#random() * below);
  }

  #name(what: string): string {
    return `${what}${this.#counter++}x`;
  }

  /** Different every time, and now and then too large for one page of the store. */
  #svg(): string {
    const length = this.#random() < 0.1 ? this.#whole(30_000) : this.#whole(200);
    return `<svg><text>${this.#counter++} ${'é'.repeat(length)}</text></svg>`;
  }
}

/** Every value that the client knows is what the server says. */
function isSame(seen: Json | undefined, known: Json | undefined): boolean {
  if (seen === undefined || known === undefined) return seen === known;
  return Object.entries(known).every(([key, value]) => JSON.stringify(seen[key]) === JSON.stringify(value));
}

function endsOf(link: Json): { node_id: string; port_number: number }[] {
  return link['nodes'] as { node_id: string; port_number: number }[];
}

function hasEnds(link: Thing, ends: ReturnType<typeof endsOf>): boolean {
  return link.ends.every(
    ([node, port], index) => ends[index]?.node_id === node.id && ends[index].port_number === port,
  );
}

/** The topology files below a projects folder, also of projects that are half deleted. */
function topologyFiles(data: string): string[] {
  const projects = join(data, 'projects');
  return [...projectFolders(data), ...asideNames(data).map((name) => `.wirefarm/${name}`)].flatMap((folder) =>
    readdirSync(join(projects, folder))
      .filter((name) => name.endsWith('.gns3'))
      .map((name) => join(projects, folder, name)),
  );
}

void t.test(`killed ${ROUNDS} times at random moments, the server keeps what it acknowledged`, async (t) => {
  t.comment(`WIREFARM_TEST_SEED=${SEED}`);
  const random = seededRandom(SEED);
  const workload = new Workload(random);
  const data = scratchFolder(t);
  // A link that finds no ports is refused.
  const environment = { WIREFARM_UDP_PORTS: manyUdpPorts() };
  let unanswered = 0;
  let files = 0;
  let wanted = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const server = await startServer(t, { data, environment });
    t.same(await workload.check(server.url), [], `round ${round}: everything acknowledged is there`);
    const running = workload.run(server.url);
    wanted = workload.acknowledged + 20 + Math.floor(random() * (round % 3 === 2 ? 400 : 100));
    await eventually('enough was acknowledged', () => (workload.acknowledged >= wanted ? true : undefined));
    t.equal(await server.stop('SIGKILL'), 'SIGKILL');
    await running;
    unanswered += workload.unanswered;
    for (const path of topologyFiles(data)) {
      t.same(gns3Problems(readFileSync(path, 'utf8')), [], 'a topology file is whole');
      files++;
    }
  }
  const server = await startServer(t, { data, environment });
  t.same(await workload.check(server.url), [], 'at the end everything acknowledged is there');
  t.equal(await server.stop(), 0);
  t.same(workload.problems, [], 'no request failed while the server was up');
  const known = new Set(workload.labs.map(({ id }) => id));
  const others = projectFolders(data).filter((folder) => !known.has(folder));
  t.same(
    others.flatMap((folder) => readdirSync(join(data, 'projects', folder))),
    [],
    'at most an empty folder is left of a project that was not acknowledged',
  );
  for (const lab of workload.labs) checkFile(t, data, lab);
  t.ok(workload.acknowledged >= wanted, `${workload.acknowledged} changes were acknowledged`);
  t.ok(unanswered > 0, `${unanswered} changes were under way when the server died`);
  t.ok(files > 0, `${files} topology files were checked`);
});

/** After a clean stop the file says what the client knows. */
function checkFile(t: Test, data: string, lab: Lab): void {
  const [path = ''] = topologyFiles(data).filter((file) => file.includes(lab.id));
  const { topology, name } = parseGns3(readFileSync(path, 'utf8'));
  t.equal(name, lab.settings.state?.['name']);
  const stored = [
    ...topology.nodes.map((node) => [node.node_id, node] as const),
    ...topology.drawings.map((drawing) => [drawing.drawing_id, drawing] as const),
    ...topology.links.map((link) => [link.link_id, link] as const),
  ];
  t.equal(stored.length, lab.things.size, 'the file holds as many objects as the client made');
  const byId = new Map<string, Json>(stored);
  const wrong = [...lab.things].filter((thing) => !isSame(byId.get(thing.id), thing.state));
  t.same(wrong, [], 'the file holds what the client made');
}

void t.test(
  'killed between a commit and the writing of the file: the store wins, the file follows',
  async (t) => {
    const data = scratchFolder(t);
    const first = await startServer(t, { data });
    const client = new Client(first.url);
    const project = await client.expect(201, 'POST', '/v2/projects', { name: 'late', auto_close: false });
    const base = `/v2/projects/${String(project['project_id'])}`;
    const path = join(String(project['path']), 'late.gns3');
    const make = (name: string): Promise<Json> =>
      client.expect(201, 'POST', `${base}/nodes`, { name, node_type: 'atm_switch', compute_id: 'local' });
    await make('A');
    await client.expect(204, 'POST', `${base}/close`);
    await client.expect(201, 'POST', `${base}/open`);
    const late = await make('B');
    await first.stop('SIGKILL');
    const before = parseGns3(readFileSync(path, 'utf8'));
    t.same(
      before.topology.nodes.map(({ name }) => name),
      ['A'],
      'the file is whole, and older than the store',
    );

    const second = await startServer(t, { data });
    const names = await eventually('the file is written again', () => {
      const { topology } = parseGns3(readFileSync(path, 'utf8'));
      return topology.nodes.length === 2 ? topology.nodes.map(({ name }) => name) : undefined;
    });
    t.same(names, ['A', 'B']);
    const again = new Client(second.url);
    await again.expect(201, 'POST', `${base}/open`);
    const shown = await again.expect(200, 'GET', `${base}/nodes/${String(late['node_id'])}`);
    t.same(shown, late);
    t.notOk(existsSync(join(String(project['path']), 'snapshots')), 'nothing was taken for an outside edit');
    t.equal(await second.stop(), 0);
  },
);

void t.test('a kill while projects are deleted leaves each of them whole or gone', async (t) => {
  const data = scratchFolder(t);
  const first = await startServer(t, { data });
  const client = new Client(first.url);
  const ids: string[] = [];
  for (let index = 0; index < 12; index++) {
    const project = await client.expect(201, 'POST', '/v2/projects', {
      name: `p${index}`,
      auto_close: false,
    });
    ids.push(String(project['project_id']));
    await client.expect(201, 'POST', `/v2/projects/${ids[index] ?? ''}/drawings`, {
      svg: `<svg>${index}</svg>`,
    });
    await client.request('POST', `/v2/projects/${ids[index] ?? ''}/files/notes.txt`, 'kept');
  }
  const deletions = ids.map((id) =>
    client.delete(`/v2/projects/${id}`).then(
      ({ status }) => status,
      () => undefined,
    ),
  );
  await Promise.race(deletions);
  await first.stop('SIGKILL');
  const answers = await Promise.all(deletions);
  t.ok(
    answers.includes(204),
    `${answers.filter((status) => status === 204).length} deletions were acknowledged`,
  );

  const second = await startServer(t, { data });
  const again = new Client(second.url);
  const listed = new Set(
    ((await again.get('/v2/projects')).body as Json[]).map((project) => project['project_id']),
  );
  for (const [index, id] of ids.entries()) {
    if (answers[index] === 204) t.notOk(listed.has(id), 'a deleted project stays deleted');
    if (!listed.has(id)) continue;
    await again.expect(201, 'POST', `/v2/projects/${id}/open`);
    const drawings = (await again.get(`/v2/projects/${id}/drawings`)).body as Json[];
    t.match(drawings, [{ svg: `<svg>${index}</svg>` }], 'a project that is there has its drawing');
    const file = await again.get(`/v2/projects/${id}/files/notes.txt`);
    t.equal(file.text, 'kept', 'and its files');
  }
  t.same(
    [...projectFolders(data), ...asideNames(data)].sort(),
    [...listed].sort(),
    'no part of another is left',
  );
  t.equal(await second.stop(), 0);
});
