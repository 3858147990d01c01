/** The common parts of `wirefarm push` and `wirefarm pull`: their options, and how they run. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from './command-error.js';
import { progressBar, type ProgressBar } from './progress-bar.js';
import type { ImageEmulator } from './remote-image.js';

export const TRANSFER_OPTIONS = {
  ca: { type: 'string' },
  dynamips: { type: 'boolean' },
  help: { type: 'boolean' },
  iou: { type: 'boolean' },
  quiet: { type: 'boolean' },
  url: { type: 'string' },
} as const;

type Options = NonNullable<ParseArgsConfig['options']>;
type Parsed<Given extends Options> = ReturnType<
  typeof parseArgs<{ options: Given; allowPositionals: true; strict: true }>
>;

/** Throws UsageError. */
export function parseTransfer<Given extends Options>(
  command: string,
  args: readonly string[],
  options: Given,
): Parsed<Given> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UsageError(`${line} (wirefarm ${command} --help)`, { cause: error });
  }
}

/** The only argument that is no option. Throws UsageError. */
export function onlyWord(command: string, words: readonly string[], what: string): string {
  const [word, ...more] = words;
  if (word === undefined) throw new UsageError(`say which ${what}: wirefarm ${command} --help`);
  if (more.length > 0) throw new UsageError(`one ${what} at a time: wirefarm ${command} --help`);
  return word;
}

export function emulatorOf(values: { readonly iou?: boolean; readonly dynamips?: boolean }): ImageEmulator {
  if (values.iou === true && values.dynamips === true) throw new UsageError('--iou or --dynamips, not both');
  if (values.iou === true) return 'iou';
  return values.dynamips === true ? 'dynamips' : 'qemu';
}

/** Refuses parts such as `..`, which are removed from an address before the server sees them. */
export function checkImageName(name: string): string {
  if (name.split('/').some((part) => ['', '.', '..'].includes(part)) || name.includes('\0')) {
    throw new UsageError(`'${name}' is no name of an image`);
  }
  return name;
}

/** Runs a transfer and says its summary. SIGINT or SIGTERM interrupts it; a second signal ends the process. */
export async function runTransfer(
  isQuiet: boolean,
  transfer: (bar: ProgressBar, signal: AbortSignal) => Promise<string>,
): Promise<void> {
  const bar = progressBar(isQuiet);
  const stop = new AbortController();
  const onStop = (): void => {
    stop.abort();
  };
  process.once('SIGINT', onStop);
  process.once('SIGTERM', onStop);
  try {
    const summary = await transfer(bar, stop.signal);
    bar.clear();
    if (!isQuiet) process.stdout.write(`${summary}\n`);
  } finally {
    bar.clear();
    process.off('SIGINT', onStop);
    process.off('SIGTERM', onStop);
  }
}
