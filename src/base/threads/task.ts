/**
 * The border between the HTTP thread and a worker thread. A worker serves one table of named tasks; a request
 * names the task and carries its input. An error cannot cross the border as itself, so what the caller needs
 * of it crosses as data.
 */
import { Refusal } from '../errors/errors.js';
import { messageOf, refusalOfSystemError } from '../errors/system-errors.js';

/** The tasks of one kind of worker. Inputs and outputs must survive a structured clone. */
export type TaskTable = Readonly<Record<string, (input: never) => unknown>>;

export interface TaskRequest {
  readonly task: string;
  readonly input: unknown;
}

export interface TaskFailure {
  readonly message: string;
  readonly status: number | undefined;
  readonly stack: string | undefined;
}

export type TaskOutcome = { readonly value: unknown } | { readonly failure: TaskFailure };

/** Runs one request in a worker. Never throws: a failure is an outcome. */
export async function performTask(table: TaskTable, request: TaskRequest): Promise<TaskOutcome> {
  try {
    const task = Object.hasOwn(table, request.task) ? table[request.task] : undefined;
    if (task === undefined) throw new Error(`Unknown task ${request.task}`);
    return { value: await task(request.input as never) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** What a task returned, on the side of its caller; throws what it failed with. */
export function valueOf(outcome: TaskOutcome): unknown {
  if ('value' in outcome) return outcome.value;
  const { message, status, stack } = outcome.failure;
  if (status !== undefined) throw new Refusal(status, message);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  throw error;
}

/** What the caller on another thread needs of an error. */
export function failureOf(error: unknown): TaskFailure {
  const known = error instanceof Refusal ? error : refusalOfSystemError(systemCode(error), systemPath(error));
  if (known !== undefined) return { message: known.message, status: known.status, stack: undefined };
  return {
    message: messageOf(error),
    status: undefined,
    stack: error instanceof Error ? error.stack : undefined,
  };
}

function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

function systemPath(error: unknown): string {
  return error instanceof Error && 'path' in error && typeof error.path === 'string'
    ? baseName(error.path)
    : '';
}

/** Only the last component: absolute paths of this host are nobody's business. */
function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
