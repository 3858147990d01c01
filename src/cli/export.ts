/** `wirefarm export`: writes an open lab, however it was made, as a lab file. */
import { stringify, type Document, isMap, isSeq, parseDocument, visit } from 'yaml';
import { LAB_OPTIONS, parseLabCommand } from './lab-command.js';
import { LabServer } from './lab-server.js';
import { isRecord, Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';

const HELP = [
  'Usage:',
  '  wirefarm export LAB [--json] [--url URL] [--ca FILE]',
  '      Writes the open lab in the form of a lab file. The contents of the files of its nodes are not in it.',
  '',
].join('\n');

export async function exportLab(args: readonly string[], environment: Environment): Promise<void> {
  const { values, word } = parseLabCommand('export', args, LAB_OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const server = new LabServer(new Server(serverAddress(values.url, environment, values.ca)));
  const file = shortened(await server.drawn(await server.get(word)));
  process.stdout.write(values.json === true ? `${JSON.stringify(file)}\n` : yamlOf(file));
}

/** Without empty parts; links without settings are their two ends. */
function shortened(file: Record<string, unknown>): Record<string, unknown> {
  const { name, kinds, nodes, links, drawings } = file;
  const shortLinks = Array.isArray(links)
    ? links.map((link: unknown) => (isRecord(link) && Object.keys(link).length === 1 ? link['ends'] : link))
    : [];
  const parts = Object.entries({ kinds, nodes, links: shortLinks, drawings });
  return { name, ...Object.fromEntries(parts.filter(([, part]) => !isEmpty(part))) };
}

function isEmpty(part: unknown): boolean {
  return part === undefined || Object.keys(Object(part) as object).length === 0;
}

/** Places and ends are written in one line each. */
function yamlOf(file: Record<string, unknown>): string {
  const document: Document = parseDocument(stringify(file));
  visit(document, {
    Seq: (_key, seq) => {
      if (seq.items.every((item) => !isMap(item) && !isSeq(item))) seq.flow = true;
    },
  });
  return document.toString();
}
