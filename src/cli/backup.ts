/** `wirefarm backup`: the backups of a server. */
import { createWriteStream, existsSync, openSync, fsyncSync, closeSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { syncFolder } from '../base/disk/published-file.js';
import { CommandError } from './command-error.js';
import { LAB_OPTIONS, parseLabWords, wrong } from './lab-command.js';
import { progressBar } from './progress-bar.js';
import { amount } from './quantities.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';
import { tableOf } from './table.js';

const OPTIONS = { ...LAB_OPTIONS, quiet: { type: 'boolean' }, with: { type: 'string' } } as const;

const HELP = [
  'Usage:',
  '  wirefarm backup create [--with captures,history,audit]',
  '      Makes a backup of all projects, records, images and symbols on the server, while it runs, and of what is named.',
  '  wirefarm backup list [--json]',
  '  wirefarm backup verify ID',
  '      Reads all of a backup, and tells what of it is damaged.',
  '  wirefarm backup download ID [FILE]',
  '      Fetches a backup as one file, backup-ID.tar if none is named; wirefarm restore takes it.',
  '  wirefarm backup delete ID',
  '',
  'ID is that of the list; latest is the newest one.',
  'All take [--quiet] [--json] [--url URL] [--ca FILE].',
  '',
].join('\n');

const PATH = '/v2/admin/backups';
const LOOK_MS = 500;
const LIST = z.object({
  backups: z.array(
    z.object({
      backup_id: z.string(),
      created_at: z.string(),
      projects: z.number(),
      size: z.number(),
      added: z.number(),
      crash_consistent: z.array(z.string()),
      left_out: z.array(z.object({ name: z.string(), reason: z.string() })),
    }),
  ),
  damaged: z.array(z.string()),
  verifications: z.array(
    z.object({
      job_id: z.string(),
      done: z.number(),
      total: z.number(),
      reason: z.string().nullable(),
      found: z
        .object({ faults: z.number(), damaged: z.array(z.object({ path: z.string(), reason: z.string() })) })
        .nullable(),
    }),
  ),
  making: z.array(z.object({ backup_id: z.string(), done: z.number() })),
  failure: z.string().nullable(),
});
const BEGUN = z.object({ backup_id: z.string() });
const JOBS = z.array(z.object({ job_id: z.string(), reason: z.string().optional() }));
const BEGUN_JOB = z.object({ job_id: z.string() });

type List = z.output<typeof LIST>;

export async function backup(args: readonly string[], environment: Environment): Promise<number | undefined> {
  const { values, words } = parseLabWords('backup', args, OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return undefined;
  }
  const [verb = '', wanted, file, ...more] = words;
  const server = new Server(serverAddress(values.url, environment, values.ca));
  const isPlain = wanted === undefined;
  if (verb === 'list' && isPlain) tellList(await listOf(server), values.json === true);
  else if (verb === 'create' && isPlain)
    tell(await created(server, values.quiet === true, values.with ?? ''));
  else if (['verify', 'download', 'delete'].includes(verb) && !isPlain && more.length === 0) {
    const id = wanted === 'latest' ? latest(await listOf(server)) : wanted;
    if (verb === 'download') tell(await downloaded(server, id, file ?? `backup-${id}.tar`));
    else if (file !== undefined) throw wrong('backup', 'name one backup');
    else if (verb === 'verify') return await verified(server, id, values.quiet === true);
    else {
      await deleted(server, id);
      tell(`deleted: ${id}`);
    }
  } else throw wrong('backup', 'say create, list, or verify, download or delete and which backup');
  return undefined;
}

async function listOf(server: Server): Promise<List> {
  const { data } = LIST.safeParse(await server.json('GET', PATH));
  if (data === undefined)
    throw new CommandError(`${server.origin} does not tell its backups: is that a Wirefarm server?`);
  return data;
}

function latest({ backups }: List): string {
  const last = backups.at(-1);
  if (last === undefined) throw new CommandError('there is no backup');
  return last.backup_id;
}

/** Returns a line for the user when the backup has been made. */
async function created(server: Server, isQuiet: boolean, extras: string): Promise<string> {
  const query = extras === '' ? '' : `?${new URLSearchParams({ with: extras }).toString()}`;
  const { backup_id: id } = BEGUN.parse(await server.json('POST', `${PATH}${query}`));
  const bar = progressBar(isQuiet);
  try {
    for (;;) {
      const { backups, making, failure } = await listOf(server);
      const made = backups.find((one) => one.backup_id === id);
      if (made !== undefined) {
        for (const { name, reason } of made.left_out)
          process.stderr.write(`wirefarm: without the project ${name}: ${reason}\n`);
        return `created: ${id}, ${amount(made.size)}, of which ${amount(made.added)} are new`;
      }
      const progress = making.find((one) => one.backup_id === id);
      if (progress === undefined) throw new CommandError(failure ?? `the backup ${id} is gone`);
      bar.note(`backup  ${amount(progress.done)}`);
      await delay(LOOK_MS);
    }
  } finally {
    bar.clear();
  }
}

/** Returns when the backup is gone. */
async function deleted(server: Server, id: string): Promise<void> {
  const { data } = BEGUN_JOB.safeParse(await server.json('DELETE', `${PATH}/${id}`));
  // A server of an earlier version answers when all is done, and names no job.
  if (data === undefined) return;
  const jobIn = async (path: string): Promise<z.infer<typeof JOBS>[number] | undefined> =>
    JOBS.parse(await server.json('GET', path)).find((one) => one.job_id === data.job_id);
  while ((await jobIn('/v2/jobs')) !== undefined) await delay(LOOK_MS);
  const { backups, damaged } = await listOf(server);
  if (![...damaged, ...backups.map((one) => one.backup_id)].includes(id)) return;
  throw new CommandError((await jobIn('/v2/jobs/ended'))?.reason ?? `the backup ${id} is not deleted`);
}

async function verified(server: Server, id: string, isQuiet: boolean): Promise<number> {
  const { job_id: jobId } = BEGUN_JOB.parse(await server.json('POST', `${PATH}/${id}/verify`));
  const { faults, damaged } = await foundBy(jobId, server, isQuiet);
  for (const { path, reason } of damaged) tell(`${path}: ${reason}`);
  if (faults > damaged.length) tell(`and ${faults - damaged.length} more`);
  if (faults === 0) tell(`whole: ${id}`);
  return faults === 0 ? 0 : 1;
}

async function foundBy(
  jobId: string,
  server: Server,
  isQuiet: boolean,
): Promise<NonNullable<List['verifications'][number]['found']>> {
  const bar = progressBar(isQuiet);
  try {
    for (let position = 0, expected = 0; ;) {
      const now = (await listOf(server)).verifications.find((one) => one.job_id === jobId);
      if (now === undefined) throw new CommandError('the backup was deleted, or is being verified anew');
      const { found, reason, done, total } = now;
      if (found !== null) return found;
      if (reason !== null) throw new CommandError(reason);
      if (total === expected) bar.moved(done - position);
      else bar.begin('verify', total, done);
      [position, expected] = [done, total];
      await delay(LOOK_MS);
    }
  } finally {
    bar.clear();
  }
}

/** The file gets its name when all has come. */
async function downloaded(server: Server, id: string, name: string): Promise<string> {
  const target = resolve(name);
  if (existsSync(target)) throw new CommandError(`${name} is there already, and is not replaced`);
  const part = `${target}.part`;
  const response = await server.stream(`${PATH}/${id}.tar`, new URLSearchParams());
  try {
    const file = openSync(part, 'w', 0o600);
    await pipeline(response, createWriteStream(part, { fd: file, autoClose: false }));
    fsyncSync(file);
    closeSync(file);
  } catch (error) {
    rmSync(part, { force: true });
    throw server.broken(error);
  }
  renameSync(part, target);
  syncFolder(dirname(target));
  return `downloaded: ${name}`;
}

function tellList({ backups, damaged }: List, asJson: boolean): void {
  const rows = backups.map((one) => [
    one.backup_id,
    one.created_at,
    `${one.projects} projects`,
    amount(one.size),
    one.crash_consistent.length === 0 ? '' : `${one.crash_consistent.length} nodes not held`,
    one.left_out.length === 0 ? '' : `without ${one.left_out.length} projects`,
  ]);
  process.stdout.write(asJson ? `${JSON.stringify(backups)}\n` : tableOf(rows));
  for (const id of damaged) tell(`damaged: ${id}`);
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
