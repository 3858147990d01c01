/**
 * Finds the route of a path. Templates have literal segments, `{name}` for one segment, and `{name:.+}` for one
 * or more, which literal segments may follow. Segments are decoded one by one, so an encoded slash never makes
 * a segment of its own.
 */
import { refusals } from '../base/errors/errors.js';
import type { Method, Route, RouteTable, SocketRoute } from './route.js';
import type { Scoped } from './route-scope.js';

interface Endpoint {
  readonly template: string;
  readonly methods: Map<Method, Scoped<Route>>;
  socket?: Scoped<SocketRoute>;
}

export interface Match {
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
}

interface Branch {
  readonly literals: Map<string, Branch>;
  parameter?: Branch;
  readonly rests: { readonly suffix: readonly string[]; readonly endpoint: Endpoint }[];
  endpoint?: Endpoint;
}

const SEGMENT = /^\{(\w+)(:\.\+)?\}$/;

export class Router {
  readonly #root = newBranch();
  readonly #names = new Map<string, readonly string[]>();

  constructor(table: RouteTable) {
    for (const route of table.routes) this.#endpointOf(route.path).methods.set(route.method, route);
    for (const socket of table.sockets) this.#endpointOf(socket.path).socket = socket;
  }

  /** Finds the endpoint; undefined when no template fits. Refuses (400) a path that cannot be decoded. */
  match(path: string): Match | undefined {
    const segments = path.split('/');
    segments.shift();
    const values: string[] = [];
    const endpoint = find(this.#root, segments, 0, values);
    if (endpoint === undefined) return undefined;
    const params: Record<string, string> = {};
    const names = this.#names.get(endpoint.template) ?? [];
    names.forEach((name, index) => {
      params[name] = decode(values[index] ?? '');
    });
    return { endpoint, params };
  }

  #endpointOf(template: string): Endpoint {
    let branch = this.#root;
    const names: string[] = [];
    const segments = template.split('/').slice(1);
    for (const [index, segment] of segments.entries()) {
      const [, name, rest] = segment.startsWith('{') ? (SEGMENT.exec(segment) ?? []) : [];
      if (name === undefined) {
        branch = getOrAdd(branch.literals, segment);
        continue;
      }
      names.push(name);
      if (rest !== undefined) {
        this.#names.set(template, names);
        return restEndpoint(branch, template, segments.slice(index + 1));
      }
      branch = branch.parameter ??= newBranch();
    }
    this.#names.set(template, names);
    return (branch.endpoint ??= { template, methods: new Map() });
  }
}

function newBranch(): Branch {
  return { literals: new Map(), rests: [] };
}

function getOrAdd(branches: Map<string, Branch>, segment: string): Branch {
  const branch = branches.get(segment) ?? newBranch();
  branches.set(segment, branch);
  return branch;
}

function restEndpoint(branch: Branch, template: string, suffix: readonly string[]): Endpoint {
  const known = branch.rests.find(({ endpoint }) => endpoint.template === template);
  if (known !== undefined) return known.endpoint;
  const endpoint: Endpoint = { template, methods: new Map() };
  branch.rests.push({ suffix, endpoint });
  return endpoint;
}

/** Literal segments win over parameters, and these over parameters of several segments. Values are still encoded. */
function find(
  branch: Branch,
  segments: readonly string[],
  index: number,
  values: string[],
): Endpoint | undefined {
  const segment = segments[index];
  if (segment === undefined) return branch.endpoint;
  const literal = branch.literals.get(segment);
  if (literal !== undefined) {
    const found = find(literal, segments, index + 1, values);
    if (found !== undefined) return found;
  }
  if (branch.parameter !== undefined && segment !== '') {
    values.push(segment);
    const found = find(branch.parameter, segments, index + 1, values);
    if (found !== undefined) return found;
    values.pop();
  }
  for (const { suffix, endpoint } of branch.rests) {
    const end = segments.length - suffix.length;
    if (end <= index || !suffix.every((literalSegment, at) => segments[end + at] === literalSegment))
      continue;
    const rest = segments.slice(index, end).join('/');
    if (rest === '') continue;
    values.push(rest);
    return endpoint;
  }
  return undefined;
}

function decode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw refusals.pathMalformed();
  }
}
