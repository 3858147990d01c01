/** `wirefarm end-time`: when a lab ends, and another end. */
import { z } from 'zod';
import { CommandError } from './command-error.js';
import { LAB_OPTIONS, parseLabCommand, wrong } from './lab-command.js';
import { LabServer } from './lab-server.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';
import { tableOf } from './table.js';

const OPTIONS = {
  ...LAB_OPTIONS,
  in: { type: 'string' },
  at: { type: 'string' },
  idle: { type: 'string' },
  snapshot: { type: 'string' },
} as const;

const HELP = [
  'Usage:',
  '  wirefarm end-time LAB',
  '      Tells when LAB ends: its nodes are saved and stopped then, and nothing is deleted.',
  '  wirefarm end-time LAB [--in TIME | --at DATE] [--idle TIME] [--snapshot yes|no]',
  '      Gives it another end: TIME from now, or at a DATE such as 2026-12-24T18:00Z, or when nobody',
  '      has used it for TIME. TIME is like 90m, 8h or 3d, or none.',
  '',
  'All take [--json] [--url URL] [--ca FILE].',
  '',
].join('\n');

const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };
const END = z.object({
  ends_at: z.string().nullable(),
  idle_after: z.number().nullable(),
  snapshot: z.boolean(),
  is_warned: z.boolean(),
  last_used_at: z.string().nullable(),
});

export async function endTime(args: readonly string[], environment: Environment): Promise<void> {
  const { values, word } = parseLabCommand('end-time', args, OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const wanted = wantedEnd(values);
  const server = new Server(serverAddress(values.url, environment, values.ca));
  const lab = await new LabServer(server).get(word);
  const path = `/v2/projects/${lab.id}/end-time`;
  const isChange = Object.keys(wanted).length > 0;
  const answer = await (isChange ? server.json('PUT', path, wanted) : server.json('GET', path));
  const { data: end } = END.safeParse(answer);
  if (end === undefined) throw new CommandError(`${server.origin} does not answer as a Wirefarm server does`);
  const rows = [
    ['ends', end.ends_at ?? 'never by the clock'],
    ['when idle for', end.idle_after === null ? 'any time: never' : spanOf(end.idle_after)],
    ['snapshot first', end.snapshot ? 'yes' : 'no'],
    ['last used', end.last_used_at ?? 'not known'],
    ...(end.is_warned ? [['warned', 'yes: it ends soon']] : []),
  ];
  process.stdout.write(values.json === true ? `${JSON.stringify(answer)}\n` : tableOf(rows));
}

/** Throws CommandError for what is no time. */
function wantedEnd(values: Partial<Record<'at' | 'idle' | 'in' | 'snapshot', string>>): object {
  const { in: span, at, idle, snapshot } = values;
  if (span !== undefined && at !== undefined) throw wrong('end-time', 'give --in or --at, not both');
  if (snapshot !== undefined && snapshot !== 'yes' && snapshot !== 'no')
    throw wrong('end-time', '--snapshot is yes or no');
  const seconds = span === undefined ? undefined : secondsOf(span);
  return {
    ...(at !== undefined && { ends_at: dateOf(at) }),
    ...(seconds !== undefined && (seconds === null ? { ends_at: null } : { ends_in: seconds })),
    ...(idle !== undefined && { idle_after: secondsOf(idle) }),
    ...(snapshot !== undefined && { snapshot: snapshot === 'yes' }),
  };
}

function secondsOf(text: string): number | null {
  if (text === 'none') return null;
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count === undefined || Number(count) === 0)
    throw wrong('end-time', `${text} is no time like 90m, 8h or 3d`);
  return Number(count) * (SECONDS[unit] ?? 0);
}

function dateOf(text: string): string {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw wrong('end-time', `${text} is no date like 2026-12-24T18:00Z`);
  return new Date(time).toISOString();
}

function spanOf(seconds: number): string {
  const unit = ['d', 'h', 'm'].find((one) => seconds % (SECONDS[one] ?? 1) === 0);
  return unit === undefined ? `${seconds} s` : `${seconds / (SECONDS[unit] ?? 1)}${unit}`;
}
