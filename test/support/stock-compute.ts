/**
 * A compute of GNS3 2.2 in the process of the test. It answers as the reference was seen to answer, traps included: a
 * second NIO at a port is refused, so is the removal of one that is not there, and UDP ports come back only when their
 * project is closed. Nothing runs in it.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, json as jsonOf } from 'node:stream/consumers';
import { WebSocketServer } from 'ws';

type Json = Record<string, unknown>;

interface StockProject {
  readonly nodes: Map<string, Json>;
  /** NIOs by their path. */
  readonly nios: Map<string, Json>;
  readonly ports: Set<number>;
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

const NODE = /^\/projects\/([^/]+)\/(\w+)\/nodes(?:\/([^/]+)(?:\/(.+))?)?$/;
const NO_CONTENT = { status: 204 };

export class StockCompute {
  readonly #http: Server;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly projects = new Map<string, StockProject>();
  /** Every request so far, as `POST /projects`. */
  readonly calls: string[] = [];
  /** Files by their path below `/projects`. */
  readonly files = new Map<string, Buffer>();
  /** Images by emulator and name. */
  readonly images = new Map<string, Buffer>();
  /** Requests for captures that run, by the path of the port. */
  readonly captures = new Map<string, Json>();
  /** Streams of captures, which have no head before the first packet. */
  readonly #streams = new Map<string, ServerResponse[]>();
  /** Frames that consoles have got. */
  readonly typed: string[] = [];
  version = '2.2.60';
  credentials: string | undefined;
  /** Answers in the place of its own, by the request; `hang` never answers. */
  readonly instead = new Map<string, Answer | 'hang'>();
  /** Consoles are asked for in vain. */
  hangsConsoles = false;
  #nextPort = 40_000;

  private constructor() {
    this.#http = createServer((request, response) => void this.#handle(request, response));
    this.#http.on('upgrade', (request: IncomingMessage, socket, head) => {
      if (this.hangsConsoles && request.url?.endsWith('/console/ws') === true) {
        socket.on('end', () => socket.destroy()).resume();
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (connection) => {
        if (request.url?.endsWith('/console/ws') === true) {
          connection.send(Buffer.from('PC1> '));
          connection.on('message', (data: Buffer) => {
            this.typed.push(data.toString());
            connection.send(data);
          });
          return;
        }
        connection.send(
          JSON.stringify({ action: 'ping', event: { cpu_usage_percent: 12.5, memory_usage_percent: 40 } }),
        );
      });
    });
  }

  static async start(port = 0): Promise<StockCompute> {
    const compute = new StockCompute();
    compute.#http.listen(port, '127.0.0.1');
    await once(compute.#http, 'listening');
    return compute;
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  tell(action: string, event: Json, projectId?: string): void {
    for (const socket of this.#sockets.clients)
      socket.send(JSON.stringify({ action, event, project_id: projectId }));
  }

  /** How many follow the capture at a port. */
  streamsAt(port: string): number {
    return (this.#streams.get(port) ?? []).filter(({ destroyed }) => !destroyed).length;
  }

  /** A packet comes at a port. */
  record(port: string, bytes: Uint8Array): void {
    for (const stream of this.#streams.get(port) ?? []) {
      if (!stream.headersSent) stream.writeHead(200, { 'content-type': 'application/vnd.tcpdump.pcap' });
      stream.write(bytes);
    }
  }

  /** Closes the notifications, as when the process dies, and forgets all that it has. */
  forget(): void {
    this.projects.clear();
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '', 'http://compute');
    const path = pathname.replace(/^\/v2\/compute/, '');
    const call = `${request.method ?? ''} ${path}`;
    this.calls.push(call);
    if (/^\/projects\/[^/]+\/files\//.test(path)) {
      await this.#file(request, response, path);
      return;
    }
    const [, emulator = '', image = ''] = /^\/(\w+)\/images\/(.+)$/.exec(path) ?? [];
    if (request.method === 'POST' && image !== '') {
      this.images.set(`${emulator}/${decodeURIComponent(image)}`, await buffer(request));
      response.writeHead(204).end();
      return;
    }
    if (path.endsWith('/pcap')) {
      const port = path.slice(0, -'/pcap'.length);
      this.#streams.set(port, [...(this.#streams.get(port) ?? []), response]);
      return;
    }
    const body = Number(request.headers['content-length'] ?? 0) > 0 ? ((await jsonOf(request)) as Json) : {};
    const isKnown = this.credentials === undefined || request.headers.authorization === this.credentials;
    const answer = isKnown ? (this.instead.get(call) ?? this.#answer(call, path, body)) : { status: 401 };
    if (answer === 'hang') return;
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  }

  #answer(call: string, path: string, body: Json): Answer {
    const [method = ''] = call.split(' ');
    if (path === '/capabilities')
      return {
        status: 200,
        body: {
          version: this.version,
          node_types: ['vpcs', 'ethernet_switch', 'qemu', 'tardis'],
          platform: 'linux',
        },
      };
    if (call === 'GET /qemu/images') return { status: 200, body: [] };
    if (call === 'GET /projects')
      return { status: 200, body: [...this.projects.keys()].map((id) => ({ project_id: id, name: id })) };
    if (call === 'POST /projects') return this.#newProject(String(body['project_id']));
    const [, projectId = '', rest = ''] = /^\/projects\/([^/]+)(.*)$/.exec(path) ?? [];
    const project = this.projects.get(projectId);
    if (project === undefined) return refusal(404, `Project ID ${projectId} doesn't exist`);
    if (rest === '/close' || (rest === '' && method === 'DELETE')) {
      this.projects.delete(projectId);
      return NO_CONTENT;
    }
    if (rest === '/ports/udp') {
      project.ports.add(++this.#nextPort);
      return { status: 201, body: { udp_port: this.#nextPort } };
    }
    const [, , type = '', id, action] = NODE.exec(path) ?? [];
    const missing = ['hda_disk_image', 'hdb_disk_image']
      .map((key) => body[key])
      .find((name) => typeof name === 'string' && name !== '' && !this.images.has(`${type}/${name}`));
    if (id === undefined && missing !== undefined)
      return { status: 409, body: { message: 'missing', exception: 'ImageMissingError', image: missing } };
    if (id === undefined) return newNode(project, projectId, type, body);
    const node = project.nodes.get(id);
    if (node === undefined) return refusal(404, `Node ID ${id} doesn't exist`);
    if (action === undefined) return this.#ofNode(method, project, node, body);
    if (action.endsWith('_capture')) return this.#capture(path, body);
    if (action.endsWith('/nio')) return ofNio(method, project, path, body);
    return this.#act(node, action);
  }

  async #file(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (request.method === 'POST') {
      this.files.set(path, await buffer(request));
      response.writeHead(201).end();
      return;
    }
    const found = this.files.get(path);
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(found ?? JSON.stringify({ message: '404: Not Found', status: 404 }));
  }

  #capture(path: string, body: Json): Answer {
    const [, port = '', action] = /^(.+)\/(start|stop)_capture$/.exec(path) ?? [];
    if (action === 'start') {
      this.captures.set(port, body);
      return { status: 200, body: { pcap_file_path: `/its/${String(body['capture_file_name'])}` } };
    }
    this.captures.delete(port);
    for (const stream of this.#streams.get(port) ?? []) stream.end();
    this.#streams.delete(port);
    return NO_CONTENT;
  }

  #newProject(id: string): Answer {
    if (!this.projects.has(id))
      this.projects.set(id, { nodes: new Map(), nios: new Map(), ports: new Set() });
    return { status: 201, body: { project_id: id, name: id } };
  }

  #ofNode(method: string, project: StockProject, node: Json, body: Json): Answer {
    if (method === 'DELETE') {
      project.nodes.delete(String(node['node_id']));
      return NO_CONTENT;
    }
    Object.assign(node, body);
    return { status: 200, body: node };
  }

  #act(node: Json, action: string): Answer {
    const status = { start: 'started', reload: 'started', stop: 'stopped', suspend: 'suspended' }[action];
    if (status === undefined) return refusal(404, 'no such action');
    node['status'] = status;
    this.tell('node.updated', node, String(node['project_id']));
    return { status: 200, body: node };
  }
}

function refusal(status: number, message: string): Answer {
  return { status, body: { message, status } };
}

/** A known id is answered with the node that has it. */
function newNode(project: StockProject, projectId: string, type: string, body: Json): Answer {
  const id = String(body['node_id']);
  const isSwitch = type === 'ethernet_switch';
  const node = project.nodes.get(id) ?? {
    ...body,
    project_id: projectId,
    console: body['console'] ?? 5000 + project.nodes.size,
    console_type: body['console_type'] ?? 'telnet',
    status: isSwitch ? 'started' : 'stopped',
    ...(isSwitch ? {} : { command_line: '', node_directory: `/its/${id}` }),
  };
  project.nodes.set(id, node);
  return { status: 201, body: node };
}

function ofNio(method: string, project: StockProject, path: string, body: Json): Answer {
  const isThere = project.nios.has(path);
  if (method === 'DELETE') {
    if (!isThere) return refusal(409, 'Port 0 is not connected');
    project.nios.delete(path);
    return NO_CONTENT;
  }
  if (method === 'PUT') {
    if (path.includes('/ethernet_switch/')) return { status: 405 };
    project.nios.set(path, body);
    return { status: 201, body };
  }
  if (isThere) return refusal(409, "Port 0 isn't free");
  project.nios.set(path, body);
  return { status: 201, body };
}
