/** `wirefarm start` and `wirefarm stop`: all nodes of a lab, or some. */
import { CommandError } from './command-error.js';
import { LAB_OPTIONS, labAndRest, parseLabWords, wrong } from './lab-command.js';
import { LabServer } from './lab-server.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

type Action = 'start' | 'stop';

const helpOf = (action: Action): string =>
  [
    'Usage:',
    `  wirefarm ${action} LAB[/NODE]... [--json] [--url URL] [--ca FILE]`,
    `      Acts on nodes of open labs: on all nodes of LAB, or on the node NODE.`,
    '',
  ].join('\n');

export async function act(action: Action, args: readonly string[], environment: Environment): Promise<void> {
  const { values, words } = parseLabWords(action, args, LAB_OPTIONS);
  if (values.help === true) {
    process.stdout.write(helpOf(action));
    return;
  }
  if (words.length === 0) throw wrong(action, 'say which lab or node');
  const server = new LabServer(new Server(serverAddress(values.url, environment, values.ca)));
  for (const word of words) {
    const { lab: name, rest } = labAndRest(word);
    const lab = await server.get(name);
    const node = rest === undefined ? undefined : (await server.nodes(lab)).find((one) => one.name === rest);
    if (rest !== undefined && node === undefined)
      throw new CommandError(`there is no node ${rest} in the lab ${name}`);
    await server.act(lab, node, action);
  }
  const done = action === 'start' ? 'started' : 'stopped';
  const told = values.json === true ? JSON.stringify({ [done]: words }) : `${done}: ${words.join(' ')}`;
  process.stdout.write(`${told}\n`);
}
