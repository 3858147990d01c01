/**
 * The calls of a client of GNS3, one after the other, as fixtures have them: a line of `test/fixtures/flows` is a call, with
 * names in braces in the place of ids, its body, and the status and the object that it is answered with.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { z } from 'zod';
import { Client, type Reply } from './client.js';
import { eventually } from './eventually.js';
import { LiveStream } from './live-stream.js';
import { NodeTerminal } from './node-terminal.js';
import { NotificationLog, type Notification } from './notification-log.js';
import { pcapFile } from './pcap-records.js';
import { STOCK_EVENTS, STOCK_OBJECTS } from './stock-objects.js';

const FIXTURES = new URL('../../../test/fixtures/flows/', import.meta.url);

const flowCall = z.strictObject({
  /** The method, or WS for a WebSocket, and the path. */
  call: z.string(),
  body: z.record(z.string(), z.unknown()).optional(),
  /** The body, when it is no JSON. */
  text: z.string().optional(),
  /** The name of a part of a form with the project that the client has exported. */
  form: z.string().optional(),
  status: z.int(),
  /** The status of the reference, where it is another. */
  gns3: z.int().optional(),
  /** The object of the answer; in brackets for a list. */
  answer: z.string().optional(),
  type: z.string().optional(),
  /** The name of the id of what was made. */
  as: z.string().optional(),
});

export type FlowCall = z.infer<typeof flowCall>;

export function recordedFlow(name: string): FlowCall[] {
  const lines = readFileSync(new URL(`${name}.jsonl`, FIXTURES), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => flowCall.parse(JSON.parse(line)));
}

const TEMPLATE = 'template ';
const CONTROLLER = '/v2/notifications/ws';
/** The actions of notifications that GNS3 does not have. */
const OWN_ACTION = /^(job|upload)\.[a-z]+$/;
const TOLD = ['node', 'link', 'drawing', 'template'];

/** The notification that a call must lead to. */
interface Told {
  readonly action: string;
  readonly id: string;
}

interface WatchedStream {
  readonly path: string;
  /** Over the WebSocket and over HTTP. */
  readonly logs: readonly [NotificationLog, NotificationLog];
  readonly expected: Told[];
}

export class FlowPlayer {
  readonly #t: Test;
  readonly #url: string;
  readonly #client: Client;
  readonly #ids = new Map<string, string>();
  #exported = Buffer.alloc(0);
  /** The streams of notifications that the client has opened. */
  readonly #streams: WatchedStream[] = [];

  /** The captures that the client has followed; they end with the captures. */
  readonly #captures: Promise<Buffer>[] = [];

  constructor(t: Test, url: string) {
    this.#t = t;
    this.#url = url;
    this.#client = new Client(url);
  }

  /** Plays the calls; what is not as the fixture says is a failed test. */
  async play(calls: readonly FlowCall[]): Promise<void> {
    for (const [index, call] of calls.entries()) await this.#playOne(call, `${index + 1}: ${call.call}`);
  }

  /** Captures must be whole; both transports must tell the same, which is of the form that clients know, and all of it. */
  async checkStreams(): Promise<void> {
    for (const capture of await Promise.all(this.#captures)) pcapFile(capture);
    for (const { path, logs, expected } of this.#streams) {
      const [socket, http] = logs;
      for (const { action, id } of expected) {
        const isIt = (told: Notification): boolean =>
          told.action === action && told.event[`${action.split('.')[0]}_id`] === id;
        await eventually(`${path} tells ${action} of ${id}`, () => socket.received.some(isIt) || undefined);
      }
      const isSame = (): true | undefined => socket.received.length === http.received.length || undefined;
      await eventually(`both transports tell as much of ${path}`, isSame);
      this.#t.same(socket.received, http.received, path);
      for (const told of socket.received) this.#checkNotification(path, told);
    }
  }

  #checkNotification(path: string, told: Notification): void {
    if (OWN_ACTION.test(told.action)) return;
    const objects: Readonly<Record<string, z.ZodType>> =
      STOCK_EVENTS[path === CONTROLLER ? 'controller' : 'project'];
    const event = objects[told.action.split('.')[0] ?? ''] ?? z.never();
    const parsed = z.strictObject({ action: z.string(), event }).safeParse(told);
    this.#t.ok(
      parsed.success,
      `${path} ${told.action}: ${parsed.success ? 'as GNS3 tells it' : z.prettifyError(parsed.error)}`,
    );
  }

  /** Notes what clients must be told of a call that has made or removed something. */
  #expect(method: string, path: string, { answer = '', as, status }: FlowCall): void {
    const [kind, id] =
      method === 'DELETE'
        ? (/\/(\w+)s\/([^/]+)$/.exec(path)?.slice(1) ?? [])
        : [answer, as === undefined ? undefined : this.#ids.get(as)];
    if (id === undefined || !TOLD.includes(kind) || status >= 400) return;
    const project = /^\/v2\/projects\/[^/]+/.exec(path)?.[0];
    const stream = project === undefined ? CONTROLLER : `${project}/notifications/ws`;
    const action = `${kind}.${method === 'DELETE' ? 'deleted' : 'created'}`;
    for (const each of this.#streams) if (each.path === stream) each.expected.push({ action, id });
  }

  async #playOne(call: FlowCall, title: string): Promise<void> {
    const [method = '', path = ''] = (await this.#named(call.call)).split(/ (.*)/);
    if (method === 'WS') return this.#watch(path);
    if (path.endsWith('/pcap')) return this.#stream(call, path);
    const reply = await this.#client.request(method, path, await this.#bodyOf(call), this.#headersOf(call));
    this.#check(call, reply, title);
    if (path.endsWith('/export')) this.#exported = Buffer.from(await this.#bytes(path));
    const { as, answer = '' } = call;
    if (as !== undefined) this.#ids.set(as, String((reply.body as Record<string, unknown>)[`${answer}_id`]));
    this.#expect(method, path, call);
  }

  #check({ status, answer, type }: FlowCall, reply: Reply, title: string): void {
    const t = this.#t;
    if (reply.status !== status) throw new Error(`${title}: ${reply.status} ${reply.text.slice(0, 300)}`);
    t.pass(title);
    if (answer === undefined) return void t.equal(reply.text, '', `${title} has no body`);
    t.equal(reply.headers.get('content-type'), type ?? 'application/json', title);
    const object = STOCK_OBJECTS[answer.replace(/^\[|\]$/g, '')];
    if (object === undefined) throw new Error(`${title}: ${answer} is not written down`);
    const parsed = (answer.startsWith('[') ? z.array(object) : object).safeParse(reply.body);
    t.ok(parsed.success, `${title}: ${parsed.success ? answer : z.prettifyError(parsed.error)}`);
  }

  /** Follows a capture until it stops. */
  async #stream({ status, type }: FlowCall, path: string): Promise<void> {
    const stream = await LiveStream.open(this.#t, `${this.#url}${path}`);
    this.#t.equal(stream.status, status);
    this.#t.equal(stream.headers.get('content-type'), type);
    this.#captures.push(stream.ended);
  }

  /** Opens a console, or the notifications at this path, over its WebSocket and over HTTP. */
  async #watch(path: string): Promise<void> {
    if (path.endsWith('/console/ws')) return void (await NodeTerminal.open(this.#t, `${this.#url}${path}`));
    const logs: readonly [NotificationLog, NotificationLog] = [
      await NotificationLog.openSocket(`${this.#url}${path}`),
      await NotificationLog.open(`${this.#url}${path.replace(/\/ws$/, '')}`),
    ];
    this.#t.teardown(() => {
      for (const log of logs) log.close();
    });
    this.#streams.push({ path, logs, expected: [] });
  }

  async #bodyOf({ body, text, form }: FlowCall): Promise<unknown> {
    if (form !== undefined) {
      return Buffer.concat([
        Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${form}"\r\n`),
        Buffer.from('Content-Type: application/octet-stream\r\n\r\n'),
        this.#exported,
        Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
      ]);
    }
    return (
      text ??
      (body === undefined ? undefined : (JSON.parse(await this.#named(JSON.stringify(body))) as unknown))
    );
  }

  #headersOf({ form, text, body }: FlowCall): Record<string, string> {
    if (form !== undefined) return { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
    if (text !== undefined) return { 'content-type': 'application/octet-stream' };
    return body === undefined ? {} : { 'content-type': 'application/json' };
  }

  async #bytes(path: string): Promise<ArrayBuffer> {
    return (await fetch(`${this.#url}${path}`)).arrayBuffer();
  }

  /** The text with ids in the place of names: those of templates, those of what was made, and new ones. */
  async #named(text: string): Promise<string> {
    const names = new Set(Array.from(text.matchAll(/\{([A-Za-z][^{}":]*)\}/g), ([, name = '']) => name));
    let result = text;
    for (const name of names) result = result.replaceAll(`{${name}}`, await this.#idOf(name));
    return result;
  }

  async #idOf(name: string): Promise<string> {
    const id = this.#ids.get(name) ?? (await this.#newId(name));
    this.#ids.set(name, id);
    return id;
  }

  async #newId(name: string): Promise<string> {
    if (!name.startsWith(TEMPLATE)) return randomUUID();
    const templates = (await this.#client.get('/v2/templates')).body as Record<string, unknown>[];
    const found = templates.find((template) => template['name'] === name.slice(TEMPLATE.length));
    return String(found?.['template_id']);
  }
}

const BOUNDARY = '----WebKitFormBoundaryqmRixUMptrOviiPC';
