/** `wirefarm up` and `wirefarm plan`: make a lab as its file says, or tell what that would change. */
import {
  CHANGES_WAIT,
  LAB_OPTIONS,
  parseLabCommand,
  STILL_DIFFERS,
  toldChanges,
  withLines,
} from './lab-command.js';
import { CommandError } from './command-error.js';
import { LabServer, type Lab, type ToldPlan } from './lab-server.js';
import { LabSource } from './lab-source.js';
import { progressBar } from './progress-bar.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const PLAN_OPTIONS = {
  ...LAB_OPTIONS,
  kinds: { type: 'string' },
  prune: { type: 'boolean' },
  strict: { type: 'boolean' },
} as const;
const UP_OPTIONS = {
  ...PLAN_OPTIONS,
  'allow-recreate': { type: 'boolean' },
  quiet: { type: 'boolean' },
} as const;

const UP_HELP = [
  'Usage:',
  '  wirefarm up FILE [--prune] [--allow-recreate] [--kinds FILE] [--strict] [--json] [--quiet] [--url URL] [--ca FILE]',
  '      Makes the lab of FILE as the file says, and opens it. The same command goes on after a failure.',
  '      FILE is a lab file or a lab of containerlab, of which is told what has no counterpart; --strict refuses it then,',
  '      and --kinds FILE says what nodes of a kind become.',
  '      --prune removes what no file has named; --allow-recreate lets nodes be made anew, without their content.',
  '      Ends with 0 when the lab is as the file says, 3 when it differs after all, 1 after a failure.',
  '',
].join('\n');

const PLAN_HELP = [
  'Usage:',
  '  wirefarm plan FILE [--prune] [--kinds FILE] [--strict] [--json] [--url URL] [--ca FILE]',
  '      Tells what `wirefarm up FILE` would change, and what each change costs: it acts live, restarts a node, or',
  '      makes it anew (recreate). Ends with 0 when there is nothing to do, 2 when there is, 1 after a failure.',
  '',
].join('\n');

export async function plan(args: readonly string[], environment: Environment): Promise<number> {
  const { values, word } = parseLabCommand('plan', args, PLAN_OPTIONS);
  if (values.help === true) {
    process.stdout.write(PLAN_HELP);
    return 0;
  }
  const source = await sourceOf(word, values);
  const server = new LabServer(new Server(serverAddress(values.url, environment, values.ca)));
  const lab = await server.find(source.name);
  if (lab?.isOpen === false) throw new CommandError(`the lab ${lab.name} is closed: wirefarm up opens it`);
  const found =
    lab === undefined
      ? wholeLab(source)
      : await withLines(source, () => server.plan(lab, source.value, values.prune === true));
  tell(found, values.json === true);
  return found.changes.length === 0 ? 0 : CHANGES_WAIT;
}

export async function up(args: readonly string[], environment: Environment): Promise<number> {
  const { values, word } = parseLabCommand('up', args, UP_OPTIONS);
  if (values.help === true) {
    process.stdout.write(UP_HELP);
    return 0;
  }
  const source = await sourceOf(word, values);
  const server = new LabServer(new Server(serverAddress(values.url, environment, values.ca)));
  const lab = await opened(server, source.name);
  const prunes = values.prune === true;
  return withLines(source, async () => {
    const planned = await server.plan(lab, source.value, prunes);
    if (values.quiet !== true) tell(planned, values.json === true);
    const bar = progressBar(values.quiet === true);
    const options = {
      plan: planned.digest,
      prune: prunes ? 'yes' : 'no',
      allow_recreate: values['allow-recreate'] === true ? 'yes' : 'no',
    };
    try {
      await server.apply(lab, source.value, options, ({ done, total }) => {
        bar.note(`${lab.name}  ${done} of ${total} steps`);
      });
    } finally {
      bar.clear();
    }
    const { changes } = await server.plan(lab, source.value, prunes);
    if (changes.length === 0) return 0;
    process.stderr.write(`wirefarm: the lab ${lab.name} differs after all:\n${toldChanges(changes)}`);
    return STILL_DIFFERS;
  });
}

/** Throws CommandError when something has no counterpart and that is not allowed. */
async function sourceOf(
  path: string,
  { kinds, strict = false }: { kinds?: string; strict?: boolean },
): Promise<LabSource> {
  const unmapped: string[] = [];
  const source = await LabSource.read(path, { kinds, onUnmapped: (told) => unmapped.push(told) });
  if (strict && unmapped.length > 0) throw new CommandError(unmapped.join('\n'));
  for (const told of unmapped) process.stderr.write(`wirefarm: ${told}\n`);
  return source;
}

async function opened(server: LabServer, name: string): Promise<Lab> {
  const lab = await server.find(name);
  if (lab === undefined) return server.make(name);
  if (!lab.isOpen) await server.open(lab);
  return lab;
}

/** The plan of a lab that is not there. */
function wholeLab({ name }: LabSource): ToldPlan {
  const change = { action: 'create', what: 'lab', name, from: null, to: 'as the file says', cost: 'live' };
  return { digest: '', changes: [change] };
}

function tell({ digest, changes }: ToldPlan, asJson: boolean): void {
  if (asJson) process.stdout.write(`${JSON.stringify({ digest, changes })}\n`);
  else process.stdout.write(changes.length === 0 ? 'nothing to do\n' : toldChanges(changes));
}
