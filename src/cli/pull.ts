/** `wirefarm pull`: downloads an image to a file, unless the file is there already. */
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CommandError } from './command-error.js';
import { Download, type Downloaded } from './download.js';
import {
  checkImageName,
  emulatorOf,
  onlyWord,
  parseTransfer,
  runTransfer,
  TRANSFER_OPTIONS,
} from './transfer-command.js';
import type { ProgressBar } from './progress-bar.js';
import { amount, duration, rate } from './quantities.js';
import { RemoteImage, type RemoteFacts } from './remote-image.js';
import { Retries } from './retries.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';
import { SourceFile } from './source-file.js';

const OPTIONS = { ...TRANSFER_OPTIONS, force: { type: 'boolean' }, output: { type: 'string' } } as const;

const HELP = [
  'Usage:',
  '  wirefarm pull NAME [--iou | --dynamips] [--output PATH] [--force] [--url URL] [--ca FILE] [--quiet]',
  '      Downloads the image NAME, for Qemu or for IOU or Dynamips, to this folder or to PATH. After an interruption the',
  '      same command fetches the rest. A file with other content is not replaced without --force.',
  '',
].join('\n');

export async function pull(args: readonly string[], environment: Environment): Promise<void> {
  const { values, positionals } = parseTransfer('pull', args, OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const name = checkImageName(onlyWord('pull', positionals, 'image'));
  const server = new Server(serverAddress(values.url, environment, values.ca));
  const image = new RemoteImage(server, emulatorOf(values), name);
  const target = targetOf(values.output, name);
  const isForced = values.force === true;
  await runTransfer(values.quiet === true, (bar, signal) =>
    pulled({ server, image, target, bar, isForced, signal }),
  );
}

interface Job {
  readonly server: Server;
  readonly image: RemoteImage;
  readonly target: string;
  readonly bar: ProgressBar;
  readonly isForced: boolean;
  readonly signal: AbortSignal;
}

/** In a folder, the image keeps its own name. */
function targetOf(output: string | undefined, name: string): string {
  const path = output ?? basename(name);
  return fileAt(path) === 'folder' ? join(path, basename(name)) : path;
}

type Found = { readonly size: number } | 'folder' | 'other' | undefined;

function fileAt(path: string): Found {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (stat.isDirectory()) return 'folder';
  return stat.isFile() ? { size: stat.size } : 'other';
}

/** Returns a line for the user. */
async function pulled(job: Job): Promise<string> {
  const { image, target, signal } = job;
  const download = new Download({ ...job, retries: new Retries() });
  try {
    const facts = await image.facts(signal);
    const md5 = facts.sha256 === undefined ? await image.md5(facts.size, signal) : undefined;
    if (await isThere(job, facts, md5)) return `${target} is ${image.name} already: nothing was fetched`;
    const startedAt = performance.now();
    const downloaded = await download.run(facts, md5);
    if (!job.isForced && fileAt(target) !== undefined) throw another(target);
    await download.publish();
    return summary(job, downloaded, (performance.now() - startedAt) / 1000);
  } catch (error) {
    if (!signal.aborted) throw error;
    const { kept } = download;
    const rest = kept === 0 ? '' : `: the same command goes on from ${amount(kept)}`;
    throw new CommandError(`interrupted${rest}`, { cause: error });
  } finally {
    await download.close();
  }
}

/** Whether the target has the image already. Throws CommandError if it has something else that must not be replaced. */
async function isThere(job: Job, facts: RemoteFacts, md5: string | undefined): Promise<boolean> {
  const { target, isForced } = job;
  const found = fileAt(target);
  if (found === undefined) return false;
  if (typeof found === 'string') throw new CommandError(`${target} is no file, and is not replaced`);
  if (found.size === facts.size && (await isSame(job, facts, md5))) return true;
  if (!isForced) throw another(target);
  return false;
}

async function isSame(
  { target, bar, signal }: Job,
  facts: RemoteFacts,
  md5: string | undefined,
): Promise<boolean> {
  const name = facts.sha256 === undefined ? 'md5' : 'sha256';
  const wanted = facts.sha256 ?? md5;
  if (wanted === undefined) return false;
  const file = await SourceFile.open(target);
  try {
    bar.begin('reading', file.size);
    const onRead = (bytes: number): void => {
      bar.moved(bytes);
    };
    return (await file.digests([name], onRead, signal))[name] === wanted;
  } finally {
    await file.close();
  }
}

function another(target: string): CommandError {
  return new CommandError(`${target} is there and may be something else: --force replaces it`);
}

function summary({ image, target }: Job, downloaded: Downloaded, seconds: number): string {
  const { size, before, digests, isVerified } = downloaded;
  const bytes = size - before;
  const pace = `${amount(bytes)} in ${duration(seconds)} (${rate(bytes / seconds)})`;
  const rest = before === 0 ? '' : `, ${amount(before)} were there from before`;
  const doubt = isVerified ? '' : ', which the server has not told to compare';
  return `${image.name} is at ${target}: fetched ${pace}${rest}, sha-256 ${digests.sha256 ?? ''}${doubt}`;
}
