/** The common parts of the commands on labs: their options, their exit codes, and how changes are told. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { CommandError } from './command-error.js';
import type { ToldChange } from './lab-server.js';
import type { LabSource } from './lab-source.js';
import { Refused } from './server.js';

/** Exit codes, for scripts. 0 is for nothing to do or all done, 1 for a failure, a wrong command line included. */
export const CHANGES_WAIT = 2;
export const STILL_DIFFERS = 3;

export const LAB_OPTIONS = {
  ca: { type: 'string' },
  help: { type: 'boolean' },
  json: { type: 'boolean' },
  url: { type: 'string' },
} as const;

type Options = NonNullable<ParseArgsConfig['options']>;
type Parsed<Given extends Options> = ReturnType<
  typeof parseArgs<{ options: Given; allowPositionals: true; strict: true }>
>;

/** The options and the one other word; no word when help is asked for. Throws CommandError. */
export function parseLabCommand<Given extends Options>(
  command: string,
  args: readonly string[],
  options: Given,
): { readonly values: Parsed<Given>['values']; readonly word: string } {
  const { values, words } = parseLabWords(command, args, options);
  const [word = '', ...more] = words;
  if (!args.includes('--help') && (word === '' || more.length > 0)) throw wrong(command, 'one lab at a time');
  return { values, word };
}

/** The options and the other words. Throws CommandError. */
export function parseLabWords<Given extends Options>(
  command: string,
  args: readonly string[],
  options: Given,
): { readonly values: Parsed<Given>['values']; readonly words: readonly string[] } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      strict: true,
    });
    return { values, words: positionals };
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw wrong(command, line, { cause: error });
  }
}

/** The error for a wrong command line. */
export function wrong(command: string, reason: string, options?: ErrorOptions): CommandError {
  return new CommandError(`${reason} (wirefarm ${command} --help)`, options);
}

/** The parts of `LAB/REST`; no rest for a lab alone. */
export function labAndRest(word: string): { readonly lab: string; readonly rest: string | undefined } {
  const slash = word.indexOf('/');
  return slash < 0
    ? { lab: word, rest: undefined }
    : { lab: word.slice(0, slash), rest: word.slice(slash + 1) };
}

/** Runs work with a lab file. Each fault that the server finds in the file is told with its line. */
export async function withLines<Result>(source: LabSource, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused) || error.faults.length === 0) throw error;
    const told = error.faults.map(({ path, reason }) => source.told(path, reason));
    throw new CommandError(told.join('\n'), { cause: error });
  }
}

/** One line a change. */
export function toldChanges(changes: readonly ToldChange[]): string {
  return changes.map((change) => `${toldChange(change)}\n`).join('');
}

function toldChange({ action, what, name, from, to, cost }: ToldChange): string {
  const how = action === 'change' && what !== 'file' ? `: ${shown(from)} -> ${shown(to)}` : '';
  const price = cost === 'live' ? '' : ` (${cost})`;
  return `${action} ${what} ${name}${how}${price}`;
}

const LONGEST_SHOWN = 200;

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
