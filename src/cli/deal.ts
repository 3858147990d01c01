/** `wirefarm deal` and `wirefarm collect`: the copies of a lab that the members of a group have. */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { CommandError } from './command-error.js';
import { LAB_OPTIONS, parseLabCommand, wrong } from './lab-command.js';
import { LabServer } from './lab-server.js';
import { progressBar } from './progress-bar.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';
import { tableOf } from './table.js';

const OPTIONS = {
  ...LAB_OPTIONS,
  group: { type: 'string' },
  list: { type: 'boolean' },
  name: { type: 'string' },
  quiet: { type: 'boolean' },
  reset: { type: 'boolean' },
} as const;

const HELP = [
  'Usage:',
  '  wirefarm deal LAB --group GROUP',
  '      Gives each member of the group a copy of the stopped lab. Who has one is left alone.',
  '  wirefarm deal LAB --group GROUP --list',
  '      Lists the members, what their copies do, when they were used last, and when they end.',
  '  wirefarm deal LAB --group GROUP --reset',
  '      Makes all copies what they were when they were dealt.',
  '  wirefarm collect LAB --group GROUP [--name NAME]',
  '      Creates a snapshot of each copy; its name is the time without --name.',
  '',
  'All take [--quiet] [--json] [--url URL] [--ca FILE].',
  '',
].join('\n');

const BETWEEN_LOOKS_MS = 200;
const BEGUN = z.object({ job_id: z.string() });
const JOBS = z.array(z.object({ job_id: z.string(), done: z.number(), total: z.number() }));
const COPIES = z.array(
  z.object({
    member: z.string(),
    name: z.string().nullable(),
    state: z.string(),
    last_used_at: z.string().nullable(),
    ends_at: z.string().nullable(),
    problem: z.string().nullable(),
  }),
);

export async function deal(
  command: 'deal' | 'collect',
  args: readonly string[],
  environment: Environment,
): Promise<void> {
  const { values, word } = parseLabCommand(command, args, OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const { group, list = false, reset = false, name = new Date().toISOString().slice(0, 19) } = values;
  if (group === undefined) throw wrong(command, 'say --group');
  if (list && reset) throw wrong(command, 'give --list or --reset, not both');
  const server = new Server(serverAddress(values.url, environment, values.ca));
  const lab = await new LabServer(server).get(word);
  const ofLab = `/v2/projects/${lab.id}`;
  const path = `${ofLab}/deals/${encodeURIComponent(group)}`;
  if (!list) {
    const [where, body] =
      command === 'collect' ? [`${path}/collect`, { name }] : reset ? [`${path}/reset`, {}] : [path, {}];
    const bar = progressBar(values.quiet === true);
    try {
      const { job_id: id } = answered(server, BEGUN, await server.json('POST', where, body));
      for (;;) {
        const jobs = answered(server, JOBS, await server.json('GET', `${ofLab}/jobs`));
        const job = jobs.find(({ job_id: other }) => other === id);
        if (job === undefined) break;
        bar.note(`${lab.name}  ${job.done} of ${job.total}`);
        await pause(BETWEEN_LOOKS_MS);
      }
    } finally {
      bar.clear();
    }
  }
  const copies = answered(server, COPIES, await server.json('GET', path));
  const rows = copies.map(({ member, name: copy, state, last_used_at: used, ends_at: end, problem }) => {
    const times = [
      used === null ? '' : `used ${minuteOf(used)}`,
      end === null ? '' : `ends ${minuteOf(end)}`,
    ];
    return [member, copy ?? '-', state, ...(list ? times : []), problem ?? ''];
  });
  process.stdout.write(values.json === true ? `${JSON.stringify(copies)}\n` : tableOf(rows));
  const failed = copies.filter(({ problem }) => problem !== null);
  if (!list && failed.length > 0)
    throw new CommandError(`not done for ${failed.length} of ${copies.length} members: do it again`);
}

/** Date and time of UTC, to the minute. */
function minuteOf(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`;
}

function answered<Value>({ origin }: Server, schema: z.ZodType<Value>, answer: unknown): Value {
  const { data } = schema.safeParse(answer);
  if (data === undefined) throw new CommandError(`${origin} does not answer as a Wirefarm server does`);
  return data;
}
