/** The labs of a server, by their names. */
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { CommandError } from './command-error.js';
import { isRecord, type Server } from './server.js';

const BETWEEN_LOOKS_MS = 200;

export interface Lab {
  readonly id: string;
  readonly name: string;
  readonly isOpen: boolean;
}

interface LabNode {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  readonly console: number | undefined;
  readonly ports: readonly Readonly<Record<string, unknown>>[];
}

interface LabLink {
  readonly id: string;
  readonly ends: readonly string[];
  readonly filters: Readonly<Record<string, unknown>>;
}

export interface LabSnapshot {
  readonly id: string;
  readonly name: string;
  /** In seconds. */
  readonly createdAt: number;
}

export interface ToldChange {
  readonly action: string;
  readonly what: string;
  readonly name: string;
  readonly from: unknown;
  readonly to: unknown;
  readonly cost: string;
}

export interface ToldPlan {
  readonly digest: string;
  readonly changes: readonly ToldChange[];
}

interface StepCount {
  readonly done: number;
  readonly total: number;
}

export class LabServer {
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
  }

  async list(): Promise<Lab[]> {
    return listIn(await this.#server.json('GET', '/v2/projects')).map((project) => ({
      id: String(project['project_id']),
      name: String(project['name']),
      isOpen: project['status'] === 'opened',
    }));
  }

  /** The lab of this name; undefined when there is none. */
  async find(name: string): Promise<Lab | undefined> {
    return (await this.list()).find((lab) => lab.name === name);
  }

  /** Throws CommandError when there is none. */
  async get(name: string): Promise<Lab> {
    const found = await this.find(name);
    if (found === undefined) throw new CommandError(`there is no lab ${name} on ${this.#server.origin}`);
    return found;
  }

  async make(name: string): Promise<Lab> {
    const made = await this.#server.json('POST', '/v2/projects', { name, auto_close: false });
    return { id: isRecord(made) ? String(made['project_id']) : '', name, isOpen: true };
  }

  async open({ id }: Lab): Promise<void> {
    await this.#server.json('POST', `/v2/projects/${id}/open`, {});
  }

  async close({ id }: Lab): Promise<void> {
    await this.#server.json('POST', `/v2/projects/${id}/close`, {});
  }

  async delete({ id }: Lab): Promise<void> {
    await this.#server.json('DELETE', `/v2/projects/${id}`);
  }

  async plan(lab: Lab, file: unknown, prune: boolean): Promise<ToldPlan> {
    const query = new URLSearchParams({ dry_run: 'yes', prune: prune ? 'yes' : 'no' });
    return planIn(await this.#server.json('PUT', `${fileOf(lab)}?${query.toString()}`, file));
  }

  /** Applies the file, and waits for the end of the job. Throws CommandError when it ends before its end. */
  async apply(
    lab: Lab,
    file: unknown,
    options: Readonly<Record<'plan' | 'prune' | 'allow_recreate', string>>,
    onProgress: (progress: StepCount) => void,
  ): Promise<void> {
    const query = new URLSearchParams(options);
    const answer = await this.#server.json('PUT', `${fileOf(lab)}?${query.toString()}`, file);
    const jobId = isRecord(answer) ? answer['job_id'] : undefined;
    for (;;) {
      const job = (await this.#jobs(lab)).find((one) => one['job_id'] === jobId);
      if (job === undefined) break;
      onProgress({ done: Number(job['done']), total: Number(job['total']) });
      await pause(BETWEEN_LOOKS_MS);
    }
    const state = await this.#server.json('GET', fileOf(lab));
    if (!isRecord(state) || state['state'] === 'applied') return;
    const reason = typeof state['reason'] === 'string' ? state['reason'] : 'the server has ended meanwhile';
    throw new CommandError(`the lab ${lab.name} is not as the file says: ${reason}`);
  }

  async nodes({ id }: Lab): Promise<LabNode[]> {
    return listIn(await this.#server.json('GET', `/v2/projects/${id}/nodes`)).map((node) => ({
      id: String(node['node_id']),
      name: String(node['name']),
      kind: String(node['node_type']),
      status: typeof node['status'] === 'string' ? node['status'] : 'stopped',
      console: typeof node['console'] === 'number' ? node['console'] : undefined,
      ports: listIn(node['ports']),
    }));
  }

  /** The links of an open lab, each with its ends as a lab file has them. */
  async links(lab: Lab): Promise<LabLink[]> {
    const nodes = new Map((await this.nodes(lab)).map((node) => [node.id, node]));
    return listIn(await this.#server.json('GET', `/v2/projects/${lab.id}/links`)).map((link) => ({
      id: String(link['link_id']),
      ends: listIn(link['nodes']).map((end) => endOf(nodes.get(String(end['node_id'])), end)),
      filters: isRecord(link['filters']) ? link['filters'] : {},
    }));
  }

  /** Starts or stops a node, or all nodes of the lab. */
  async act(lab: Lab, node: LabNode | undefined, action: 'start' | 'stop'): Promise<void> {
    const where = node === undefined ? 'nodes' : `nodes/${node.id}`;
    await this.#server.json('POST', `/v2/projects/${lab.id}/${where}/${action}`, {});
  }

  /** The filters take the place of those that the link has. */
  async filter(lab: Lab, link: LabLink, filters: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#server.json('PUT', `/v2/projects/${lab.id}/links/${link.id}`, { filters });
  }

  /** The stream of packets that pass these links, or all links. The caller must destroy it or read it to its end. */
  packets(
    { id }: Lab,
    links: readonly string[] | undefined,
    bpf: string | undefined,
  ): Promise<IncomingMessage> {
    const query = new URLSearchParams();
    if (links !== undefined) query.set('links', links.join(','));
    if (bpf !== undefined) query.set('bpf', bpf);
    return this.#server.stream(`/v2/projects/${id}/pcap`, query);
  }

  /** Oldest first. */
  async snapshots({ id }: Lab): Promise<LabSnapshot[]> {
    return listIn(await this.#server.json('GET', `/v2/projects/${id}/snapshots`)).map((found) => ({
      id: String(found['snapshot_id']),
      name: String(found['name']),
      createdAt: Number(found['created_at']),
    }));
  }

  async takeSnapshot({ id }: Lab, name: string, isRunning: boolean): Promise<void> {
    const query = isRunning ? '?running=true' : '';
    await this.#server.json('POST', `/v2/projects/${id}/snapshots${query}`, { name });
  }

  async restoreSnapshot(lab: Lab, { id }: LabSnapshot): Promise<void> {
    await this.#server.json('POST', `/v2/projects/${lab.id}/snapshots/${id}/restore`, {});
  }

  async restoreNode(lab: Lab, { id }: LabSnapshot, node: string): Promise<void> {
    const path = `/v2/projects/${lab.id}/snapshots/${id}/nodes/${encodeURIComponent(node)}/restore`;
    await this.#ended(lab, await this.#server.json('POST', path, {}));
  }

  /** The answer of the server, as it is. */
  changesSince(lab: Lab, { id }: LabSnapshot): Promise<unknown> {
    return this.#server.json('GET', `/v2/projects/${lab.id}/snapshots/${id}/diff`);
  }

  fileChange(lab: Lab, { id }: LabSnapshot, path: string): Promise<unknown> {
    const query = new URLSearchParams({ path }).toString();
    return this.#server.json('GET', `/v2/projects/${lab.id}/snapshots/${id}/diff/file?${query}`);
  }

  async deleteSnapshot(lab: Lab, { id }: LabSnapshot): Promise<void> {
    await this.#server.json('DELETE', `/v2/projects/${lab.id}/snapshots/${id}`);
  }

  /** Waits for work on the lab, and tells the progress of the lab's job meanwhile. */
  async watched(lab: Lab, work: Promise<void>, onProgress: (progress: StepCount) => void): Promise<void> {
    const state = { isDone: false };
    const ended = work.finally(() => {
      state.isDone = true;
    });
    // The caller gets the error of the work, which may come while the jobs are asked for.
    ended.catch(() => undefined);
    for (;;) {
      await Promise.race([ended, pause(BETWEEN_LOOKS_MS)]);
      if (state.isDone) return ended;
      const [job] = await this.#jobs(lab);
      if (job !== undefined) onProgress({ done: Number(job['done']), total: Number(job['total']) });
    }
  }

  /** Waits for the job that an answer names. Throws CommandError with the reason when it fails. */
  async #ended({ id }: Lab, answer: unknown): Promise<void> {
    const jobId = isRecord(answer) ? answer['job_id'] : undefined;
    // A server of an earlier version answers when all is done, and names no job.
    if (typeof jobId !== 'string') return;
    for (;;) {
      const job = await this.#server.json('GET', `/v2/projects/${id}/jobs/${jobId}`);
      if (isRecord(job) && job['outcome'] === 'failed') throw new CommandError(String(job['reason']));
      if (isRecord(job) && job['outcome'] === 'done') return;
      await pause(BETWEEN_LOOKS_MS);
    }
  }

  async #jobs({ id }: Lab): Promise<Record<string, unknown>[]> {
    return listIn(await this.#server.json('GET', `/v2/projects/${id}/jobs`));
  }

  /** The open lab in the form of a lab file. */
  async drawn(lab: Lab): Promise<Record<string, unknown>> {
    const answer = await this.#server.json('GET', `${fileOf(lab)}?drawn=yes`);
    const file = isRecord(answer) ? answer['lab_file'] : undefined;
    if (!isRecord(file)) throw new CommandError(`${this.#server.origin} answered no lab file`);
    return file;
  }
}

/** `NODE:PORT`, with the short name of the port. */
function endOf(node: LabNode | undefined, end: Readonly<Record<string, unknown>>): string {
  const { adapter_number: adapter, port_number: number } = end;
  const port = node?.ports.find((one) => one['adapter_number'] === adapter && one['port_number'] === number);
  const name = port === undefined ? `${String(adapter)}/${String(number)}` : String(port['short_name']);
  return `${node?.name ?? ''}:${name}`;
}

const fileOf = ({ id }: Lab): string => `/v2/projects/${id}/lab-file`;

function listIn(answer: unknown): Record<string, unknown>[] {
  return Array.isArray(answer) ? answer.filter(isRecord) : [];
}

function planIn(answer: unknown): ToldPlan {
  if (!isRecord(answer)) throw new CommandError('the server answered no plan');
  const changes = listIn(answer['changes']).map(({ action, what, name, from, to, cost }) => ({
    action: String(action),
    what: String(what),
    name: String(name),
    from,
    to,
    cost: String(cost),
  }));
  return { digest: String(answer['digest']), changes };
}
