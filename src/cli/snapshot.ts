/** `wirefarm snapshot`: the snapshots of a lab, by their names. */
import { CommandError } from './command-error.js';
import { LAB_OPTIONS, parseLabWords, wrong } from './lab-command.js';
import { LabServer, type Lab, type LabSnapshot } from './lab-server.js';
import { progressBar } from './progress-bar.js';
import { amount } from './quantities.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';
import { changeLines, fileLines, pathOf } from './snapshot-changes.js';
import { tableOf } from './table.js';

const OPTIONS = { ...LAB_OPTIONS, running: { type: 'boolean' }, quiet: { type: 'boolean' } } as const;

const HELP = [
  'Usage:',
  '  wirefarm snapshot ls LAB [--json]',
  '  wirefarm snapshot create LAB NAME [--running]',
  '      --running has the memory of nodes that run, and holds them meanwhile.',
  '  wirefarm snapshot diff LAB NAME [FILE]',
  '      The changes since then, or the changed lines of a file, such as R1/startup-config.cfg.',
  '  wirefarm snapshot restore LAB NAME [NODE]',
  '      The lab, or one node with its files, becomes what it was, whole or not at all.',
  '  wirefarm snapshot delete LAB NAME',
  '',
  'All take [--quiet] [--json] [--url URL] [--ca FILE].',
  '',
].join('\n');

export async function snapshot(args: readonly string[], environment: Environment): Promise<void> {
  const { values, words } = parseLabWords('snapshot', args, OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const [verb, name = '', wanted, part, ...more] = words;
  const takesPart = verb === 'diff' || verb === 'restore';
  if (name === '' || more.length > 0 || (part !== undefined && !takesPart))
    throw wrong('snapshot', 'say ls, create, diff, restore or delete, and which lab');
  const server = new LabServer(new Server(serverAddress(values.url, environment, values.ca)));
  const lab = await server.get(name);
  const asJson = values.json === true;
  if (verb === 'ls' && wanted === undefined) {
    tellList(await server.snapshots(lab), asJson);
    return;
  }
  if (wanted === undefined) throw wrong('snapshot', 'say the name of the snapshot');
  if (verb === 'diff') {
    await tellChanges(server, lab, wanted, part, asJson);
    return;
  }
  const bar = progressBar(values.quiet === true);
  const work = workOf(verb, { server, lab, wanted, part, isRunning: values.running === true });
  try {
    await server.watched(lab, work.done, ({ done, total }) => {
      bar.note(`${lab.name}  ${work.title}  ${amount(done)}${total === 0 ? '' : ` of ${amount(total)}`}`);
    });
  } finally {
    bar.clear();
  }
  const told = asJson ? JSON.stringify({ [work.title]: wanted }) : `${work.title}: ${wanted}`;
  process.stdout.write(`${told}\n`);
}

interface Work {
  readonly server: LabServer;
  readonly lab: Lab;
  readonly wanted: string;
  /** The name of one node. */
  readonly part: string | undefined;
  readonly isRunning: boolean;
}

/** Begins the work of a verb. */
function workOf(
  verb: string | undefined,
  work: Work,
): { readonly title: string; readonly done: Promise<void> } {
  const { server, lab, wanted, part } = work;
  if (verb === 'create') return { title: 'created', done: server.takeSnapshot(lab, wanted, work.isRunning) };
  const onFound = async (act: (found: LabSnapshot) => Promise<void>): Promise<void> => {
    await act(theOne(await server.snapshots(lab), wanted, lab));
  };
  if (verb === 'restore' && part !== undefined)
    return { title: 'restored', done: onFound((found) => restoreNode(server, lab, found, part)) };
  if (verb === 'restore')
    return { title: 'restored', done: onFound((found) => server.restoreSnapshot(lab, found)) };
  if (verb === 'delete')
    return { title: 'deleted', done: onFound((found) => server.deleteSnapshot(lab, found)) };
  throw wrong('snapshot', `'${verb ?? ''}' is none of ls, create, diff, restore and delete`);
}

/** A node that is gone is named by its id. */
async function restoreNode(server: LabServer, lab: Lab, found: LabSnapshot, part: string): Promise<void> {
  const node = (await server.nodes(lab)).find(({ name }) => name === part);
  await server.restoreNode(lab, found, node?.id ?? part);
}

async function tellChanges(
  server: LabServer,
  lab: Lab,
  wanted: string,
  file: string | undefined,
  asJson: boolean,
): Promise<void> {
  const found = theOne(await server.snapshots(lab), wanted, lab);
  const names = new Map((await server.nodes(lab)).map(({ id, name }) => [id, name]));
  const changes = await server.changesSince(lab, found);
  const answer =
    file === undefined ? changes : await server.fileChange(lab, found, pathOf(file, changes, names));
  const lines = file === undefined ? changeLines(answer, names) : fileLines(answer);
  process.stdout.write(asJson ? `${JSON.stringify(answer)}\n` : lines.map((line) => `${line}\n`).join(''));
}

/** By its name or its id. */
function theOne(all: readonly LabSnapshot[], wanted: string, lab: Lab): LabSnapshot {
  const found = all.find(({ id, name }) => id === wanted || name === wanted);
  if (found === undefined) throw new CommandError(`the lab ${lab.name} has no snapshot ${wanted}`);
  return found;
}

function tellList(list: readonly LabSnapshot[], asJson: boolean): void {
  const rows = list.map(({ id, name, createdAt }) => [name, new Date(createdAt * 1000).toISOString(), id]);
  process.stdout.write(
    asJson
      ? `${JSON.stringify(list.map(({ id, name, createdAt }) => ({ snapshot_id: id, name, created_at: createdAt })))}\n`
      : tableOf(rows),
  );
}
