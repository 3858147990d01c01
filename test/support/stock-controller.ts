/**
 * A controller of GNS3 2.2 that uses a server as one of its computes: it sends what the reference sends, in its order, and
 * is as strict about the answers. The far ends of its links are sockets of the test, which stand for another host.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { Test } from 'tap';
import { Client, type Reply } from './client.js';
import type { ComputeKind } from './compute-kinds.js';
import { NodeTerminal } from './node-terminal.js';
import { NotificationLog } from './notification-log.js';
import { UdpPeer } from './udp-peer.js';

export type Json = Record<string, unknown>;

/** The keys that a controller keeps beside the properties of a node. */
const NO_PROPERTIES = [
  ...['name', 'node_id', 'project_id', 'console', 'console_type', 'status', 'node_directory'],
  ...['command_line', 'console_host'],
];
const MOST_TRIES = 6;

/** A node as the controller knows it. */
export interface StockNode {
  readonly kind: ComputeKind;
  readonly id: string;
  /** The object of the compute. */
  readonly shown: Json;
}

/** A link of a port to another host. */
export interface StockLink {
  readonly peer: UdpPeer;
  /** The port of the compute, to which the other host sends. */
  readonly near: number;
  readonly at: string;
  readonly nio: Json;
}

export class StockController {
  readonly client: Client;
  readonly events: NotificationLog;
  readonly projectId: string;
  readonly t: Test;
  readonly #url: string;
  #numbered = 0;

  private constructor(t: Test, url: string, events: NotificationLog, projectId: string) {
    this.t = t;
    this.#url = url;
    this.client = new Client(url);
    this.events = events;
    this.projectId = projectId;
  }

  /** Connects to the compute and makes the project there, as before its first node. */
  static async open(t: Test, url: string, projectId: string = randomUUID()): Promise<StockController> {
    const client = new Client(url);
    const { version } = await client.expect(200, 'GET', '/v2/compute/capabilities');
    t.match(version, /^2\.2\./, 'a compute of another version is refused');
    const events = await NotificationLog.openSocket(`${url}/v2/compute/notifications/ws`);
    t.teardown(() => {
      events.close();
    });
    const controller = new StockController(t, url, events, projectId);
    const variables = [{ name: 'SITE', value: 'north' }];
    await controller.#post(201, '', { name: 'lab', project_id: projectId, variables });
    return controller;
  }

  get path(): string {
    return `/v2/compute/projects/${this.projectId}`;
  }

  at({ kind, id }: Pick<StockNode, 'kind' | 'id'>): string {
    return `${this.path}/${kind.kind}/nodes/${id}`;
  }

  /** Makes a node; an image that the compute misses is uploaded, and the node asked for again. */
  async create(kind: ComputeKind, name: string): Promise<StockNode> {
    const number = kind.numberedBy === undefined ? {} : { [kind.numberedBy]: ++this.#numbered };
    return this.createAs(kind, randomUUID(), { ...kind.properties, ...number, name });
  }

  /** Sends everything that the controller has kept of a node, as it does when it opens a project. */
  createAgain({ kind, id, shown }: StockNode): Promise<StockNode> {
    const properties = Object.entries(shown).filter(([key, value]) => {
      const isEmpty = value === null || (typeof value === 'object' && Object.keys(value).length === 0);
      return !NO_PROPERTIES.includes(key) && !isEmpty;
    });
    const { name, console, console_type } = shown;
    const ownConsole = kind.hasConsole ? { console, console_type } : {};
    return this.createAs(kind, id, { ...Object.fromEntries(properties), ...ownConsole, name });
  }

  async createAs(kind: ComputeKind, id: string, body: Json): Promise<StockNode> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const reply = await this.client.post(`${this.path}/${kind.kind}/nodes`, { ...body, node_id: id });
      const { exception, image } = reply.body as Json;
      if (reply.status === 409 && exception === 'ImageMissingError') {
        await this.#upload(kind, String(image));
        continue;
      }
      if (reply.status !== 201) throw new Error(`${kind.kind}: ${reply.status} ${reply.text}`);
      const shown = reply.body as Json;
      this.t.equal(reply.headers.get('content-type'), 'application/json');
      this.t.strictSame(Object.keys(shown).sort(), kind.keys.split(' ').sort(), `the keys of ${kind.kind}`);
      this.t.match(shown, { node_id: id, project_id: this.projectId, name: body['name'] });
      return { kind, id, shown };
    }
    throw new Error(`the image of ${kind.kind} is missing after its upload`);
  }

  async show(node: StockNode): Promise<Json> {
    return this.client.expect(200, 'GET', this.at(node));
  }

  /** Only the starts of some kinds tell more than that they are done. */
  async act(node: StockNode, action: 'start' | 'stop' | 'suspend' | 'reload'): Promise<void> {
    const body = action === 'start' ? node.kind.startBody : undefined;
    const status = action === 'start' && node.kind.startShows ? 200 : 204;
    await this.client.expect(status, 'POST', `${this.at(node)}/${action}`, body);
  }

  /** Reserves a port, and leads the port of the node to another host. */
  async link(node: StockNode, [adapter, port] = node.kind.port): Promise<StockLink> {
    const peer = await UdpPeer.open(this.t);
    const reserved = await this.#post(201, '/ports/udp');
    this.t.strictSame(Object.keys(reserved), ['udp_port']);
    const near = Number(reserved['udp_port']);
    const at = `${this.at(node)}/adapters/${adapter}/ports/${port}`;
    const address = { lport: near, rhost: '127.0.0.1', rport: peer.port, type: 'nio_udp' };
    const nio = { ...address, filters: {}, suspend: false };
    this.t.strictSame(await this.client.expect(201, 'POST', `${at}/nio`, nio), address);
    return { peer, near, at, nio };
  }

  unlink({ at }: StockLink): Promise<Reply> {
    return this.client.delete(`${at}/nio`);
  }

  fileOf({ kind, id }: StockNode, path: string): string {
    return `${this.path}/files/project-files/${kind.kind}/${id}/${path}`;
  }

  /** The files of the project, as an export asks for them. */
  async files(): Promise<Map<string, string>> {
    const reply = await this.client.get(`${this.path}/files`);
    const listed = reply.body as { path: string; md5sum: string }[];
    return new Map(listed.map(({ path, md5sum }) => [path, md5sum]));
  }

  /** A copy as the controller makes it: a node with the same settings, then its files. */
  async duplicate(node: StockNode, name: string): Promise<StockNode> {
    const copy = await this.create(node.kind, name);
    const wanted = { destination_node_id: copy.id };
    const shown = await this.client.expect(201, 'POST', `${this.at(node)}/duplicate`, wanted);
    this.t.match(shown, { node_id: copy.id, name });
    return copy;
  }

  console(node: StockNode): Promise<NodeTerminal> {
    return NodeTerminal.open(this.t, `${this.#url}${this.at(node)}/console/ws`, node.kind.lineEnd);
  }

  pcapOf({ at }: StockLink): string {
    return `${this.#url}${at}/pcap`;
  }

  /** As the reference streams an image from its own disk: in chunks, without a length. */
  async #upload({ emulator, image }: ComputeKind, name: string): Promise<void> {
    if (image === undefined || emulator === undefined) throw new Error(`${name} is no image of the test`);
    const path = `/v2/compute/${emulator}/images/${name}`;
    const headers = { 'content-type': 'application/octet-stream', 'transfer-encoding': 'chunked' };
    const sent = request(`${this.#url}${path}`, { method: 'POST', headers, agent: false });
    sent.end(image(this.t));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    this.t.equal(answer.statusCode, 204, `the upload of ${name}`);
  }

  #post(status: number, path: string, body?: Json): Promise<Json> {
    const base = path === '' ? '/v2/compute/projects' : this.path;
    return this.client.expect(status, 'POST', `${base}${path}`, body);
  }
}
