/** Clients of a farm, which ask any of its servers, and note what they were told. */
import { randomUUID } from 'node:crypto';
import { Client, Unanswered, type Reply } from '../client.js';
import { Random } from '../random.js';
import { AUTHORIZATION } from './farm.js';
import { LINK } from './followed-etcd.js';
import type { AskedChange, AskedRead } from './history.js';
import { COMPUTES } from './plan.js';

type Json = Record<string, unknown>;

interface KnownNode {
  readonly id: string;
  readonly type: 'ethernet_hub' | 'vpcs';
}

/** A project as the clients know it: some of its nodes may be gone, or may never have been. */
interface KnownProject {
  readonly id: string;
  nodes: KnownNode[];
  links: string[];
}

const CLIENTS = 3;
const MOST_PROJECTS = 4;
const MOST_NODES = 10;
const HUB_PORTS = 7;
const BETWEEN_MS = 40;

export class SoakClients {
  readonly asked: AskedChange[] = [];
  readonly reads: AskedRead[] = [];
  readonly projects: KnownProject[] = [];
  /** Answers that no route declares. */
  readonly broken: string[] = [];
  readonly #servers: readonly Client[];
  readonly #random: Random;
  readonly #made: (project: string) => void;
  #names = 0;
  #isAsking = false;
  #loops: Promise<void>[] = [];

  /** `made` is told of each project that was made. */
  constructor(urls: readonly string[], seed: number, made: (project: string) => void) {
    this.#servers = urls.map((url) => new Client(url, { authorization: AUTHORIZATION }));
    this.#random = new Random(seed);
    this.#made = made;
  }

  begin(): void {
    this.#isAsking = true;
    this.#loops = Array.from({ length: CLIENTS }, (_, client) => this.#loop(client));
  }

  /** Resolves when all have their answers. */
  async rest(): Promise<void> {
    this.#isAsking = false;
    await Promise.all(this.#loops);
  }

  async makeProject(client = 0): Promise<KnownProject | undefined> {
    const project: KnownProject = { id: randomUUID(), nodes: [], links: [] };
    const name = this.#name('lab');
    const body = { name, project_id: project.id, auto_close: false };
    const reply = await this.#change(client, `project/${project.id}`, name, 'POST', '/v2/projects', body);
    if (reply?.status !== 201) return undefined;
    this.projects.push(project);
    this.#made(project.id);
    return project;
  }

  async makeNode(
    project: KnownProject,
    type: KnownNode['type'],
    compute: string,
    client = 0,
  ): Promise<KnownNode> {
    const node = { id: randomUUID(), type };
    const name = this.#name(type === 'vpcs' ? 'PC' : 'HUB');
    const body = { name, node_type: type, compute_id: compute, node_id: node.id };
    const path = `/v2/projects/${project.id}/nodes`;
    await this.#change(client, `node/${project.id}/${node.id}`, name, 'POST', path, body);
    project.nodes.push(node);
    return node;
  }

  async makeLink(
    project: KnownProject,
    ends: readonly (readonly [KnownNode, number])[],
    client = 0,
  ): Promise<void> {
    const nodes = ends.map(([{ id }, port_number]) => ({ node_id: id, adapter_number: 0, port_number }));
    const begun = performance.now();
    const reply = await this.#ask('POST', `/v2/projects/${project.id}/links`, { nodes });
    if (reply?.status !== 201) return;
    const id = String((reply.body as Json)['link_id']);
    this.#note({ client, begun, object: `link/${project.id}/${id}`, value: LINK }, reply);
    project.links.push(id);
  }

  async readAll(): Promise<void> {
    for (const [index] of this.#servers.entries()) {
      await this.#readProjects(0, index);
      for (const project of this.projects) await this.#readNodes(0, project, index);
    }
  }

  #name(kind: string): string {
    return `${kind}${++this.#names}`;
  }

  async #loop(client: number): Promise<void> {
    while (this.#isAsking) {
      await this.#step(client).catch((error: unknown) => this.broken.push(String(error)));
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
    }
  }

  async #step(client: number): Promise<void> {
    const random = this.#random;
    const project = random.pick(this.projects);
    const path = `/v2/projects/${project.id}`;
    const roll = random.below(100);
    if (roll < 2 && this.projects.length < MOST_PROJECTS) await this.makeProject(client);
    else if (roll < 3 && project !== this.projects[0]) {
      this.projects.splice(this.projects.indexOf(project), 1);
      await this.#change(client, `project/${project.id}`, undefined, 'DELETE', path);
    } else if (roll < 6) {
      const name = this.#name('lab');
      await this.#change(client, `project/${project.id}`, name, 'PUT', path, { name });
    } else if (roll < 16) await this.#readProjects(client);
    else if (roll < 30) await this.#readNodes(client, project);
    else if (roll < 45 || project.nodes.length < 2) {
      if (project.nodes.length >= MOST_NODES) return;
      await this.makeNode(
        project,
        random.chance(0.25) ? 'vpcs' : 'ethernet_hub',
        random.pick(COMPUTES),
        client,
      );
    } else await this.#stepOnNode(client, project, roll);
  }

  async #stepOnNode(client: number, project: KnownProject, roll: number): Promise<void> {
    const random = this.#random;
    const path = `/v2/projects/${project.id}`;
    // The first two nodes of the first project carry the frames.
    const kept = project === this.projects[0] ? 2 : 0;
    const [node, other] = [random.pick(project.nodes), random.pick(project.nodes)];
    const object = `node/${project.id}/${node.id}`;
    const at = `${path}/nodes/${node.id}`;
    if (roll < 60) {
      const name = this.#name(node.type === 'vpcs' ? 'PC' : 'HUB');
      await this.#change(client, object, name, 'PUT', at, { name });
    } else if (roll < 65 && project.nodes.indexOf(node) >= kept) {
      project.nodes = project.nodes.filter((each) => each !== node);
      await this.#change(client, object, undefined, 'DELETE', at);
    } else if (roll < 77 && node !== other) {
      const port = (end: KnownNode): number => (end.type === 'vpcs' ? 0 : 1 + random.below(HUB_PORTS - 1));
      await this.makeLink(
        project,
        [
          [node, port(node)],
          [other, port(other)],
        ],
        client,
      );
    } else if (roll < 85 && project.links.length > 1) {
      const link = random.pick(project.links.slice(kept === 0 ? 0 : 1));
      if (roll < 81) {
        project.links = project.links.filter((each) => each !== link);
        await this.#change(
          client,
          `link/${project.id}/${link}`,
          undefined,
          'DELETE',
          `${path}/links/${link}`,
        );
      } else await this.#ask('POST', `${path}/links/${link}/${random.pick(['start', 'stop'])}_capture`, {});
    } else if (node.type === 'vpcs')
      await this.#ask('POST', `${at}/${random.pick(['start', 'start', 'stop'])}`);
    else await this.#readNode(client, project, node);
  }

  async #readProjects(client: number, server?: number): Promise<void> {
    await this.#read(
      client,
      'project/',
      '/v2/projects',
      (body) => (body as Json[]).map(({ project_id: id, name }) => [`project/${String(id)}`, String(name)]),
      server,
    );
  }

  async #readNodes(client: number, project: KnownProject, server?: number): Promise<void> {
    const covers = `node/${project.id}/`;
    await this.#read(
      client,
      covers,
      `/v2/projects/${project.id}/nodes`,
      (body) => (body as Json[]).map(({ node_id: id, name }) => [`${covers}${String(id)}`, String(name)]),
      server,
    );
  }

  async #readNode(client: number, project: KnownProject, { id }: KnownNode): Promise<void> {
    const object = `node/${project.id}/${id}`;
    await this.#read(client, object, `/v2/projects/${project.id}/nodes/${id}`, (body) => [
      [object, String((body as Json)['name'])],
    ]);
  }

  async #read(
    client: number,
    covers: string,
    path: string,
    valuesOf: (body: unknown) => [string, string][],
    server?: number,
  ): Promise<void> {
    const begun = performance.now();
    const reply = await this.#ask('GET', path, undefined, server);
    if (reply === undefined || ![200, 404].includes(reply.status) || reply.headers.has('wirefarm-stale'))
      return;
    const values = reply.status === 404 ? {} : Object.fromEntries(valuesOf(reply.body));
    this.reads.push({ client, begun, ended: performance.now(), covers, values });
  }

  async #change(
    client: number,
    object: string,
    value: string | undefined,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Reply | undefined> {
    const begun = performance.now();
    const reply = await this.#ask(method, path, body);
    this.#note({ client, begun, object, value }, reply);
    return reply;
  }

  #note(change: Pick<AskedChange, 'client' | 'begun' | 'object' | 'value'>, reply: Reply | undefined): void {
    const { status = 0, headers } = reply ?? {};
    const outcome =
      status >= 200 && status < 300 ? 'done' : status >= 400 && status < 500 ? 'refused' : 'unknown';
    const request = headers?.get('x-request-id') ?? undefined;
    this.asked.push({ ...change, ended: performance.now(), outcome, request });
  }

  /** Undefined when there was no answer. */
  async #ask(method: string, path: string, body?: unknown, server?: number): Promise<Reply | undefined> {
    const one = this.#servers[server ?? this.#random.below(this.#servers.length)];
    try {
      return await one?.request(method, path, body);
    } catch (error) {
      if (error instanceof Unanswered) return undefined;
      throw error;
    }
  }
}
