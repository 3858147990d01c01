/**
 * The messages between a server and its keeper. The server says hello first. The keeper answers with its own hello and,
 * when both are of one version and one mark, with all programs that it keeps and `welcome`. In all versions `hello` and
 * `end` are the same: a server can always end a keeper of another version.
 */
import type { ProgramView } from './namespaces.js';
import type { ProgramEnd, ProgramOrder, ProgramSignal } from './program.js';

export const KEEPER_VERSION = 5;

/** The environment variable of each program: `<mark>/<id>`. */
export const MARK_VARIABLE = 'WIREFARM_NODE';

/** The name of the mounts that hide folders from a confined program, which the program cannot change. */
export function confinedLabel(mark: string, id: string): string {
  return `wirefarm:${mark}/${id}`;
}

/** How much of its console a program's ring has at most in one message. */
export const LONGEST_OUTPUT = 64 * 1024;

/** Confined programs have users of these numbers, which no distribution gives to anybody. */
export const FIRST_PROGRAM_USER = 0x7000_0000;
export const LAST_PROGRAM_USER = 0x7ffd_ffff;

export interface SpawnConfinement extends ProgramView {
  /** Also the number of its group. */
  readonly user: number;
  readonly groups: readonly number[];
  /** The path of a network namespace; empty for that of the host. */
  readonly network: string;
}

export interface SpawnOrder extends Omit<ProgramOrder, 'memo' | 'confinement' | 'niceness'> {
  readonly niceness: number;
  readonly confinement?: SpawnConfinement | undefined;
  /** JSON text: the keeper does not look into it. */
  readonly memo: string;
}

/** The most that the programs of one project may use together, where the host lends the controllers; 0 is no limit. */
export interface ProjectLimits {
  readonly memoryBytes: number;
  /** 100 is one core. */
  readonly cpuPercent: number;
}

export const NO_LIMITS: ProjectLimits = { memoryBytes: 0, cpuPercent: 0 };

export type ServerMessage =
  | {
      readonly kind: 'hello';
      readonly version: number;
      readonly mark: string;
      readonly graceSeconds: number;
      /** Absent from servers of other versions. */
      readonly limits?: ProjectLimits;
    }
  | { readonly kind: 'end' }
  | { readonly kind: 'spawn'; readonly request: number; readonly order: SpawnOrder }
  | { readonly kind: 'input'; readonly id: string; readonly bytes: Uint8Array }
  /** The keeper has the last of these bytes for the next server. */
  | { readonly kind: 'remember'; readonly id: string; readonly bytes: Uint8Array }
  | { readonly kind: 'resize'; readonly id: string; readonly columns: number; readonly rows: number }
  | { readonly kind: 'kill'; readonly id: string; readonly signal: ProgramSignal };

export type KeeperMessage =
  | { readonly kind: 'hello'; readonly version: number; readonly mark: string; readonly pid: number }
  /** Another server is connected. */
  | { readonly kind: 'busy' }
  | {
      readonly kind: 'kept';
      readonly id: string;
      readonly pid: number;
      readonly memo: string;
      readonly remembered: Uint8Array;
    }
  /** All that is kept has been told. `controllers` are those by which projects can be limited. */
  | { readonly kind: 'welcome'; readonly controllers: readonly string[] }
  | { readonly kind: 'spawned'; readonly request: number; readonly pid: number }
  | { readonly kind: 'refused'; readonly request: number; readonly reason: string }
  /** `at` counts from the first byte that the program printed; what was dropped before it leaves a gap. */
  | { readonly kind: 'output'; readonly id: string; readonly at: number; readonly bytes: Uint8Array }
  /** Comes after all of its output. */
  | { readonly kind: 'ended'; readonly id: string; readonly end: ProgramEnd };

const MOST_BYTES_OF_ARGUMENTS = 256 * 1024;
const MOST_BYTES_OF_MEMO = 384 * 1024;
const LONGEST_ID = 256;
const LEAST_NICE = 19;

/** Why an order is not one that a keeper takes; undefined when it is. */
export function faultOf(order: SpawnOrder): string | undefined {
  const { id, command, args, folder, environment, niceness, confinement, memo } = order;
  if (id === '' || id.length > LONGEST_ID) return `The id of a program has 1 to ${LONGEST_ID} characters`;
  if (command === '') return 'A program needs a command';
  if (!Number.isInteger(niceness) || Math.abs(niceness) > LEAST_NICE + 1) return 'The niceness is no number';
  const variables = Object.entries(environment).flat();
  const { network = '', hidden = [], visible = [] } = confinement ?? {};
  const places = [network, ...hidden, ...visible.flatMap(({ path, at }) => [path, at])];
  const texts = [id, command, folder, ...args, ...variables, ...places];
  if (texts.some((text) => text.includes('\0'))) return 'An argument has a NUL in it';
  if (bytesOf([command, ...args]) > MOST_BYTES_OF_ARGUMENTS)
    return `The arguments have more than ${MOST_BYTES_OF_ARGUMENTS} bytes`;
  if (bytesOf([folder, ...variables]) > MOST_BYTES_OF_ARGUMENTS)
    return `The environment has more than ${MOST_BYTES_OF_ARGUMENTS} bytes`;
  if (bytesOf([memo]) > MOST_BYTES_OF_MEMO) return `The memo has more than ${MOST_BYTES_OF_MEMO} bytes`;
  return undefined;
}

/** With the NUL or separator that each text takes. */
function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
}

const SIGNALS: readonly string[] = [
  'SIGTERM',
  'SIGKILL',
  'SIGHUP',
  'SIGINT',
  'SIGSTOP',
  'SIGCONT',
] satisfies ProgramSignal[];

/** Whether the message has the shape of one from a server. The socket is open to all programs of the user. */
export function isServerMessage(message: unknown): message is ServerMessage {
  if (!isRecord(message)) return false;
  switch (message['kind']) {
    case 'hello':
      return (
        isNumber(message['version']) &&
        isText(message['mark']) &&
        isNumber(message['graceSeconds']) &&
        (message['limits'] === undefined || areLimits(message['limits']))
      );
    case 'end':
      return true;
    case 'spawn':
      return isNumber(message['request']) && isOrder(message['order']);
    case 'input':
    case 'remember':
      return isText(message['id']) && message['bytes'] instanceof Uint8Array;
    case 'resize':
      return isText(message['id']) && isCount(message['columns']) && isCount(message['rows']);
    case 'kill':
      return isText(message['id']) && isText(message['signal']) && SIGNALS.includes(message['signal']);
    default:
      return false;
  }
}

function areLimits(limits: unknown): boolean {
  if (!isRecord(limits)) return false;
  const { memoryBytes, cpuPercent } = limits;
  return [memoryBytes, cpuPercent].every((limit) => isNumber(limit) && Number.isInteger(limit) && limit >= 0);
}

function isOrder(order: unknown): boolean {
  return (
    isRecord(order) &&
    [order['id'], order['command'], order['folder'], order['memo']].every(isText) &&
    (order['project'] === undefined || isText(order['project'])) &&
    (order['endsWithServer'] === undefined || typeof order['endsWithServer'] === 'boolean') &&
    Array.isArray(order['args']) &&
    order['args'].every(isText) &&
    isRecord(order['environment']) &&
    Object.values(order['environment']).every(isText) &&
    isNumber(order['niceness']) &&
    (order['cpuPercent'] === undefined || isPercent(order['cpuPercent'])) &&
    (order['console'] === 'terminal' || order['console'] === 'pipes') &&
    (order['confinement'] === undefined || isConfinement(order['confinement']))
  );
}

function isConfinement(confinement: unknown): boolean {
  if (!isRecord(confinement)) return false;
  const { user, groups, network, hidden, visible } = confinement;
  return (
    isNumber(user) &&
    user >= FIRST_PROGRAM_USER &&
    user <= LAST_PROGRAM_USER &&
    Array.isArray(groups) &&
    groups.every(isNumber) &&
    isText(network) &&
    Array.isArray(hidden) &&
    hidden.every(isText) &&
    Array.isArray(visible) &&
    visible.every(
      (place) =>
        isRecord(place) &&
        isText(place['path']) &&
        isText(place['at']) &&
        typeof place['isWritable'] === 'boolean',
    )
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isPercent(value: unknown): boolean {
  return isNumber(value) && Number.isInteger(value) && value > 0;
}

/** The most columns or rows. */
function isCount(value: unknown): value is number {
  return isNumber(value) && Number.isInteger(value) && value > 0 && value < 0x1_0000;
}
