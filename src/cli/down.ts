/** `wirefarm down`: stops a lab, and deletes it on request. */
import { LAB_OPTIONS, parseLabCommand } from './lab-command.js';
import { LabServer } from './lab-server.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const OPTIONS = { ...LAB_OPTIONS, delete: { type: 'boolean' } } as const;

const HELP = [
  'Usage:',
  '  wirefarm down LAB [--delete] [--json] [--url URL] [--ca FILE]',
  '      Stops all nodes of the lab and closes it; with --delete, removes it with all of its files.',
  '',
].join('\n');

export async function down(args: readonly string[], environment: Environment): Promise<void> {
  const { values, word } = parseLabCommand('down', args, OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const server = new LabServer(new Server(serverAddress(values.url, environment, values.ca)));
  const lab = await server.get(word);
  if (values.delete === true) await server.delete(lab);
  else if (lab.isOpen) await server.close(lab);
  const state = values.delete === true ? 'deleted' : 'closed';
  const told =
    values.json === true ? JSON.stringify({ lab: lab.name, state }) : `the lab ${lab.name} is ${state}`;
  process.stdout.write(`${told}\n`);
}
