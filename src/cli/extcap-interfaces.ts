/** Lists each link of every open project as an interface, and one interface per project for all its links. */
import { isRecord, Refused, type Server } from './server.js';
import { interfaceSentence } from './extcap-sentences.js';

/** How many projects are queried at a time. */
const LANES = 8;

type Fields = Record<string, unknown>;

/** Leaves out a project that is closed or deleted meanwhile. */
export async function interfaceSentences(server: Server): Promise<string[]> {
  const projects = await server.list('/v2/projects');
  const opened = projects.filter((project) => project['status'] === 'opened');
  const found = opened.map((): string[] => []);
  const queue = opened.entries();
  const lane = async (): Promise<void> => {
    for (const [index, project] of queue) found[index] = await sentencesOf(server, project);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return found.flat();
}

async function sentencesOf(server: Server, project: Fields): Promise<string[]> {
  const projectId = text(project, 'project_id');
  const path = `/v2/projects/${projectId}`;
  try {
    const [nodes, links] = await Promise.all([server.list(`${path}/nodes`), server.list(`${path}/links`)]);
    if (links.length === 0) return [];
    const nodesById = new Map(nodes.map((node) => [text(node, 'node_id'), node]));
    const shown = (what: string): string => `${text(project, 'name')}: ${what}`;
    const ofLink = (link: Fields): string =>
      interfaceSentence(
        { projectId, linkId: text(link, 'link_id') },
        shown(
          records(link, 'nodes')
            .map((end) => endName(end, nodesById))
            .join(' — '),
        ),
      );
    return [interfaceSentence({ projectId, linkId: undefined }, shown('all links')), ...links.map(ofLink)];
  } catch (error) {
    if (error instanceof Refused) return [];
    throw error;
  }
}

function endName(end: Fields, nodes: ReadonlyMap<string, Fields>): string {
  const { adapter_number: adapter, port_number: number } = end;
  const node = nodes.get(text(end, 'node_id')) ?? {};
  const port = records(node, 'ports').find(
    (each) => each['adapter_number'] === adapter && each['port_number'] === number,
  );
  const portName = text(port ?? {}, 'short_name');
  return `${text(node, 'name')} ${portName === '' ? `${String(adapter)}/${String(number)}` : portName}`;
}

function text(fields: Fields, key: string): string {
  const value = fields[key];
  return typeof value === 'string' ? value : '';
}

function records(fields: Fields, key: string): Fields[] {
  const value = fields[key];
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
