/**
 * The border between the HTTP thread and a worker thread. A worker serves one table of named tasks; a request
 * names the task and carries its input. An error object cannot cross the border, so its parts cross as data.
 */
import { messageOf, Refusal, refusalOfSystemError, systemCode } from '../errors/errors.js';

/** The tasks of one kind of worker. Inputs and outputs must survive a structured clone. */
export type TaskTable = Readonly<Record<string, (input: never) => unknown>>;

export interface TaskRequest {
  readonly task: string;
  readonly input: unknown;
}

/** A refusal has a status and a code; any other error has a stack. */
export type TaskFailure =
  | { readonly message: string; readonly status: number; readonly code: string; readonly stack: undefined }
  | {
      readonly message: string;
      readonly status: undefined;
      readonly code: undefined;
      readonly stack: string | undefined;
    };

export type TaskOutcome = { readonly value: unknown } | { readonly failure: TaskFailure };

/** Runs one request in a worker. Never throws: a failure is an outcome. */
export async function performTask(table: TaskTable, request: TaskRequest): Promise<TaskOutcome> {
  try {
    return { value: await callTask(table, request) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** Returns what the task returns, which may be a promise. */
export function callTask(table: TaskTable, { task, input }: TaskRequest): unknown {
  const found = Object.hasOwn(table, task) ? table[task] : undefined;
  if (found === undefined) throw new Error(`Unknown task ${task}`);
  return found(input as never);
}

/** The value that a task returned, on the side of its caller; throws the error that the task failed with. */
export function valueOf(outcome: TaskOutcome): unknown {
  if ('value' in outcome) return outcome.value;
  const { message, status, code, stack } = outcome.failure;
  if (status !== undefined) throw new Refusal(status, code, message);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  throw error;
}

/** The parts of an error that its caller on another thread needs. */
export function failureOf(error: unknown): TaskFailure {
  const known = error instanceof Refusal ? error : refusalOfSystemError(systemCode(error), systemPath(error));
  if (known !== undefined) {
    const { message, status, code } = known;
    return { message, status, code, stack: undefined };
  }
  return {
    message: messageOf(error),
    status: undefined,
    code: undefined,
    stack: error instanceof Error ? error.stack : undefined,
  };
}

function systemPath(error: unknown): string {
  return error instanceof Error && 'path' in error && typeof error.path === 'string'
    ? baseName(error.path)
    : '';
}

/** The last component of a path: clients are not told absolute paths of this host. */
function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
