/** Many changes of nodes or links in one call, each with a result of its own: one that fails does not keep the others. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { INTERNAL_ERROR, Refusal } from '../base/errors/errors.js';
import type { Project } from '../lab/projects/project.js';

/** So many changes begin in one turn of the HTTP thread. */
const AT_ONCE = 64;

/** One change; `run` returns its status, and the text of the object if there is one afterwards. */
interface BatchStep {
  readonly id: string | null;
  run(): Promise<{ readonly status: number; readonly text?: string }>;
}

/** The steps of one sort, which may be done at once. */
export type BatchSteps<Action extends string> = readonly [action: Action, steps: readonly BatchStep[]];

/** Does one sort after the other; returns the JSON text of all results. */
export async function batchResults(
  project: Project,
  what: 'link' | 'node',
  sorts: readonly BatchSteps<string>[],
): Promise<string> {
  const texts: string[] = [];
  for (const [action, steps] of sorts) {
    const results: Promise<string>[] = [];
    for (const step of steps) {
      results.push(resultOf(project, what, action, step));
      if (results.length % AT_ONCE === 0) await nextTurn();
    }
    texts.push(...(await Promise.all(results)));
  }
  return `{"results":[${texts.join(',')}]}`;
}

/** A step for each of these ids. */
export function stepForEach(
  ids: readonly string[] = [],
  run: (id: string) => ReturnType<BatchStep['run']>,
): BatchStep[] {
  return ids.map((id) => ({ id, run: () => run(id) }));
}

async function resultOf(
  project: Project,
  what: 'link' | 'node',
  action: string,
  step: BatchStep,
): Promise<string> {
  try {
    const { status, text } = await step.run();
    const id = step.id ?? (text === undefined ? null : idOf(text, what));
    const shown = text === undefined ? '' : `"${what}":${text},`;
    return `{"action":"${action}",${shown}"${what}_id":${JSON.stringify(id)},"status":${status}}`;
  } catch (error) {
    const { message } = error instanceof Error ? error : { message: String(error) };
    const { code, status } = error instanceof Refusal ? error : INTERNAL_ERROR;
    // A fault of this server goes into its log, too.
    if (status === 500) project.warn(`${action} of a ${what} failed: ${message}`);
    return JSON.stringify({ action, code, [`${what}_id`]: step.id, message, status });
  }
}

function idOf(text: string, what: 'link' | 'node'): string {
  return (JSON.parse(text) as Record<string, string>)[`${what}_id`] ?? '';
}
