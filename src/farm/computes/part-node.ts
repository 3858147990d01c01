/** A node of another compute, for those who ask that compute about it: only while this server says what runs there. */
import { refusals } from '../../base/errors/errors.js';
import type { FarAnswer, FarNode, FarRequest, FarSocket, FarSocketUser } from '../../lab/far-node.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';
import type { RunRight } from '../../lab/lab-run.js';
import { nodePath } from './node-body.js';
import type { RemoteComputes } from './remote-computes.js';
import type { RemotePart } from './remote-part.js';

interface PartNodeOptions {
  readonly projectId: string;
  readonly right: RunRight;
  readonly computes: RemoteComputes;
}

export class PartNode implements FarNode {
  readonly stored: StoredNode;
  readonly #part: RemotePart;
  readonly #options: PartNodeOptions;

  constructor(stored: StoredNode, part: RemotePart, options: PartNodeOptions) {
    this.stored = stored;
    this.#part = part;
    this.#options = options;
  }

  get computeId(): string {
    return this.stored.compute_id;
  }

  get computeName(): string {
    return this.#part.computeName;
  }

  get dialect(): number {
    return this.#part.spoken;
  }

  get isReady(): boolean {
    return this.#part.isReady;
  }

  get path(): string {
    return nodePath(this.stored, this.#options.projectId).slice(this.#project.length);
  }

  ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    return this.#part.ask(method, `${this.#project}${path}`, body);
  }

  async open(request: FarRequest): Promise<FarAnswer> {
    this.#check();
    const { computes } = this.#options;
    return computes.open(this.computeId, { ...request, path: `${this.#project}${request.path}` });
  }

  connect(path: string, user: FarSocketUser): FarSocket {
    this.#check();
    return this.#options.computes.connect(this.computeId, `${this.#project}${path}`, user);
  }

  get #project(): string {
    return `/projects/${this.#options.projectId}`;
  }

  #check(): void {
    const { projectId, right } = this.#options;
    if (!right.holds()) throw refusals.claimLost(projectId);
  }
}
