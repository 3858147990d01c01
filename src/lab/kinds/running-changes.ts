/** The changes of a node that its program does not take while it runs. */
import { refusals } from '../../base/errors/errors.js';
import type { ProgramKind, Properties } from './node-kind.js';

interface ChangingNode {
  readonly name: string;
  readonly properties: Properties;
}

/** Refuses (409) a change that has to wait until the node is stopped. */
export function checkChangeWhileRunning(kind: ProgramKind, before: ChangingNode, after: ChangingNode): void {
  const { name = false, properties = {}, except } = kind.fixedWhileRunning ?? {};
  if (name && before.name !== after.name) throw refusals.nodeRunsAlready(before.name, 'change the name');
  for (const [key, noun] of Object.entries(properties)) {
    const [was, wanted] = [before.properties[key] ?? null, after.properties[key] ?? null];
    if (was === wanted || except?.(key, before.properties, after.properties) === true) continue;
    throw refusals.nodeRunsAlready(before.name, `change the ${noun}`);
  }
}
