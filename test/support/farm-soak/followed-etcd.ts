/** Follows everything that etcd stores from its first revision on, and keeps it. */
import { unpack } from 'msgpackr';
import { z } from 'zod';
import { headKey, type EntityRecord } from '../../../src/lab/projects/records.js';
import { eventually } from '../eventually.js';
import { ask } from '../etcd.js';
import type { OwnerChange, StoredChange } from './history.js';

const PAIR = z.object({ key: z.string(), value: z.string().optional(), mod_revision: z.string().optional() });
const MESSAGE = z.object({
  result: z.object({
    canceled: z.boolean().optional(),
    events: z.array(z.object({ type: z.string().optional(), kv: PAIR })).optional(),
  }),
});
const RANGE = z.object({ header: z.object({ revision: z.string() }), kvs: z.array(PAIR).optional() });

export const LINK = 'link';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

interface Named {
  readonly name?: unknown;
  readonly settings?: { readonly name?: unknown };
  readonly compute_id?: unknown;
  readonly nodes?: readonly { readonly node_id: string }[];
}

export class FollowedEtcd {
  readonly changes: StoredChange[] = [];
  readonly owners: OwnerChange[] = [];
  /** Records of nodes and links as they were last. */
  readonly objects = new Map<string, Named>();
  /** Names of servers, by their addresses. */
  readonly servers = new Map<string, string>();
  readonly #urls: readonly string[];
  readonly #prefix: string;
  readonly #abort = new AbortController();
  #revision = 0;

  constructor(urls: readonly string[], prefix: string) {
    this.#urls = urls;
    this.#prefix = `/${prefix}/`;
    void this.#follow();
  }

  close(): void {
    this.#abort.abort();
  }

  /** All records at once, once everything up to them has been followed. */
  async last(): Promise<Record<string, string>> {
    const { header, kvs = [] } = await eventually('etcd is read', () => this.#range());
    await this.reached(Number(header.revision));
    return Object.fromEntries(
      kvs.flatMap(({ key, value = '' }) => {
        const object = this.#objectOf(key);
        return object === undefined ? [] : [[object, valueOf(object, decoded(value))]];
      }),
    );
  }

  async reached(revision: number): Promise<void> {
    await eventually('everything is followed', () => this.#revision >= revision || undefined);
  }

  async #range(): Promise<z.infer<typeof RANGE> | undefined> {
    const range = { key: base64(this.#prefix), range_end: base64(`${this.#prefix.slice(0, -1)}0`) };
    for (const url of this.#urls) {
      const read = RANGE.safeParse(await ask(url, 'kv/range', range).catch(() => undefined));
      if (read.success) return read.data;
    }
    return undefined;
  }

  async #follow(): Promise<void> {
    for (let turn = 0; !this.#abort.signal.aborted; turn++) {
      const url = this.#urls[turn % this.#urls.length] ?? '';
      await this.#watch(url).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #watch(url: string): Promise<void> {
    const silent = new AbortController();
    let timer = setTimeout(() => undefined, 0);
    const heard = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        silent.abort();
      }, 3000);
    };
    heard();
    const range = { key: base64(this.#prefix), range_end: base64(`${this.#prefix.slice(0, -1)}0`) };
    const body = JSON.stringify({
      create_request: { ...range, start_revision: String(this.#revision + 1), progress_notify: true },
    });
    const signal = AbortSignal.any([this.#abort.signal, silent.signal]);
    try {
      const response = await fetch(`${url}/v3/watch`, { method: 'POST', body, signal });
      let text = '';
      for await (const piece of response.body ?? []) {
        heard();
        text += Buffer.from(piece as Uint8Array).toString();
        const lines = text.split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) this.#take(MESSAGE.parse(JSON.parse(line)).result);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** All events of a revision come in one message. */
  #take({ canceled, events = [] }: z.infer<typeof MESSAGE>['result']): void {
    if (canceled === true) throw new Error('the watch is canceled');
    for (const { type, kv } of events)
      this.#note(kv.key, Number(kv.mod_revision), type === 'DELETE' ? undefined : kv.value);
    if (events.length > 0) this.#revision = Math.max(...events.map(({ kv }) => Number(kv.mod_revision)));
  }

  #note(key: string, revision: number, text: string | undefined): void {
    const [kind = '', name = ''] = this.#partsOf(key);
    const object = this.#objectOf(key);
    if (object === undefined && kind !== 'owner' && kind !== 'server') return;
    const record = text === undefined ? undefined : decoded(text);
    if (kind === 'owner') this.owners.push({ revision, scope: name, server: record as string | undefined });
    if (kind === 'server' && record !== undefined)
      this.servers.set((record as { address: string }).address, name);
    if (object === undefined) return;
    if (record === undefined) this.objects.delete(object);
    else this.objects.set(object, inner(record));
    this.changes.push({
      revision,
      object,
      value: record === undefined ? undefined : valueOf(object, record),
    });
  }

  #partsOf(key: string): string[] {
    return Buffer.from(key, 'base64')
      .toString()
      .slice(this.#prefix.length)
      .split('/')
      .map(decodeURIComponent);
  }

  #objectOf(key: string): string | undefined {
    const [area, project = '', kind = '', id = ''] = this.#partsOf(key);
    if (area === headKey('')[0] && kind === 'project') return `project/${project}`;
    if (area === 'lab' && (kind === 'node' || kind === 'link')) return `${kind}/${project}/${id}`;
    return undefined;
  }
}

const decoded = (value: string): unknown => unpack(Buffer.from(value, 'base64'));
const inner = (record: unknown): Named =>
  (record as Partial<EntityRecord<Named>>).object ?? (record as Named);

function valueOf(object: string, record: unknown): string {
  if (object.startsWith('link/')) return LINK;
  const { name, settings } = inner(record);
  return String(name ?? settings?.name);
}
