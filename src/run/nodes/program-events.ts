/** The events of a node that is a program, for the history of its project and for people who listen to it. */
import { messageOf, Refusal } from '../../base/errors/errors.js';
import type { ComputeServices } from '../compute-services.js';
import type { ProgramEnd } from '../keeper/keeper.js';
import type { NodeProject } from './machine.js';
import { lastLines, lastWords } from './printed-text.js';

/** The history keeps so many of the last characters that a program has printed. */
const KEPT_OUTPUT = 1500;
const STATUS_UNKNOWN = 404;
const STATUS_NOT_NOW = 503;

interface EventNode {
  readonly id: string;
  readonly name: string;
  readonly home: NodeProject;
}

type EventServices = Pick<ComputeServices, 'remember' | 'report'>;

/** The program ended by itself, or something killed it. */
export function tellEnd(node: EventNode, end: ProgramEnd, output: Uint8Array, services: EventServices): void {
  const { id: subject, name, home } = node;
  const lines = lastLines(output);
  if (end.code !== 0) services.report(home.id, 'error', `${name} ended: ${lastWords(end, lines)}`);
  const message = `${name} ended: ${lastWords(end, lines.slice(-KEPT_OUTPUT))}`;
  services.remember(home.id, { kind: 'node_ended', message, subject });
}

/** Follows a start. A node that went meanwhile, or may not start at this moment, has not failed. */
export async function tellStart(
  { id: subject, name, home }: EventNode,
  start: Promise<void>,
  { remember }: Pick<EventServices, 'remember'>,
): Promise<void> {
  try {
    await start;
  } catch (error) {
    const isFailure = !(error instanceof Refusal) || ![STATUS_UNKNOWN, STATUS_NOT_NOW].includes(error.status);
    const message = `${name} did not start: ${messageOf(error)}`;
    if (isFailure) remember(home.id, { kind: 'node_not_started', message, subject });
    throw error;
  }
}

/** The node has taken over its program from an earlier server. */
export function tellKept(
  { id: subject, name, home }: EventNode,
  { remember }: Pick<EventServices, 'remember'>,
): void {
  const message = `${name} went on while the server was away`;
  remember(home.id, { kind: 'node_kept', message, subject });
}
