/** `wirefarm push`: uploads a file as an image, unless the server has it already. */
import { basename } from 'node:path';
import { CommandError } from './command-error.js';
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
import { ImageMissing, RemoteImage, reprDigest, type RemoteFacts } from './remote-image.js';
import { ResumablePush } from './resumable-push.js';
import { Retries } from './retries.js';
import { Server, Unreachable, WORK_LIMIT_MS } from './server.js';
import { serverAddress, type Environment } from './server-address.js';
import { SourceFile, type Hashes } from './source-file.js';

const OPTIONS = { ...TRANSFER_OPTIONS, name: { type: 'string' } } as const;

const HELP = [
  'Usage:',
  '  wirefarm push FILE [--iou | --dynamips] [--name NAME] [--url URL] [--ca FILE] [--quiet]',
  '      Uploads FILE as an image for Qemu, or for IOU or Dynamips. NAME may have folders: cisco/x.img.',
  '      A file that the server has already is not sent; after an interruption the same command sends the rest.',
  '',
].join('\n');

export async function push(args: readonly string[], environment: Environment): Promise<void> {
  const { values, positionals } = parseTransfer('push', args, OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const path = onlyWord('push', positionals, 'file');
  const name = checkImageName(values.name ?? basename(path));
  const server = new Server(serverAddress(values.url, environment, values.ca));
  const image = new RemoteImage(server, emulatorOf(values), name);
  const file = await SourceFile.open(path);
  try {
    await runTransfer(values.quiet === true, (bar, signal) => pushed({ server, image, file, bar, signal }));
  } finally {
    await file.close();
  }
}

interface Job {
  readonly server: Server;
  readonly image: RemoteImage;
  readonly file: SourceFile;
  readonly bar: ProgressBar;
  readonly signal: AbortSignal;
}

/** Returns a line for the user. */
async function pushed(job: Job): Promise<string> {
  const { server, image, signal } = job;
  let isSending = false;
  try {
    const known = await knownContent(job);
    const digests = await digestsOf(job, known);
    if (isSame(known, digests)) return `${image.name} is on ${server.origin} already: nothing was sent`;
    isSending = true;
    return await sent(job, digests.sha256 ?? '');
  } catch (error) {
    if (!signal.aborted) throw error;
    const rest = isSending ? ': the same command sends the rest' : ', nothing was sent';
    throw new CommandError(`interrupted${rest}`, { cause: error });
  }
}

/** The digests that the server has for an image of this name and size; undefined when there is none. */
async function knownContent({ image, file, signal }: Job): Promise<Hashes | undefined> {
  const facts = await image.facts(signal).catch((error: unknown): RemoteFacts | undefined => {
    if (error instanceof ImageMissing) return undefined;
    throw error;
  });
  if (facts?.size !== file.size) return undefined;
  if (facts.sha256 !== undefined) return { sha256: facts.sha256 };
  const md5 = await image.md5(file.size, signal);
  return md5 === undefined ? undefined : { md5 };
}

function digestsOf({ file, bar, signal }: Job, known: Hashes | undefined): Promise<Hashes> {
  bar.begin('reading', file.size);
  const onRead = (bytes: number): void => {
    bar.moved(bytes);
  };
  return file.digests(known?.md5 === undefined ? ['sha256'] : ['sha256', 'md5'], onRead, signal);
}

function isSame(known: Hashes | undefined, { sha256, md5 }: Hashes): boolean {
  if (known === undefined) return false;
  return known.sha256 === undefined ? known.md5 === md5 : known.sha256 === sha256;
}

async function sent(job: Job, sha256: string): Promise<string> {
  const { server, image, file } = job;
  const resumable = new ResumablePush({ ...job, sha256, retries: new Retries() });
  const startedAt = performance.now();
  const before = (await resumable.send()) ?? (await sendWhole(job, sha256));
  const seconds = (performance.now() - startedAt) / 1000;
  await file.checkSame();
  const bytes = file.size - before;
  const pace = `${amount(bytes)} in ${duration(seconds)} (${rate(bytes / seconds)})`;
  const rest = before === 0 ? '' : `, ${amount(before)} were there from before`;
  return `${image.name} is on ${server.origin}: sent ${pace}${rest}, sha-256 ${sha256}`;
}

/** For a server without resumable uploads, such as one of GNS3. */
async function sendWhole({ server, image, file, bar, signal }: Job, sha256: string): Promise<number> {
  bar.begin(image.name, file.size);
  const onRead = (bytes: number): void => {
    bar.moved(bytes);
  };
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Content-Length': String(file.size),
    'Repr-Digest': reprDigest(sha256),
  };
  const body = file.bytes(0, onRead);
  const question = { method: 'POST', headers, body, workMs: WORK_LIMIT_MS, signal };
  const answer = await server.ask(image.path, question).catch((error: unknown) => {
    throw error instanceof Unreachable
      ? new CommandError(`${server.broken(error.cause).message}, and this server cannot go on with a part`)
      : error;
  });
  const status = answer.statusCode ?? 0;
  if (status < 200 || status > 299) throw await server.refusal(answer);
  answer.destroy();
  return 0;
}
