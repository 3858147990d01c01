/** Makes of the text of a lab file, and of files that its nodes name, the body for the server. */
import { send } from '../api/call.js';
import { readLabText } from '../api/lab-files.js';
import { PLAN_TEXTS as texts } from './plan-texts.js';

const LARGEST_FILE = 1024 * 1024;

type LabFileBody = Readonly<Record<string, unknown>>;

interface ReadLab {
  readonly body: LabFileBody | undefined;
  readonly faults: readonly string[];
}

/** `chosen` are the files that somebody has chosen, by their names without folders. */
export async function readLab(text: string, chosen: ReadonlyMap<string, File>): Promise<ReadLab> {
  const { lab_file: file, faults } = await send(readLabText(text));
  const told = faults.map(({ line, message }) => texts.fault(line, message));
  if (file === null || told.length > 0) return { body: undefined, faults: told };
  const missing: string[] = [];
  const nodes: [string, unknown][] = [];
  for (const [name, node] of Object.entries(recordOf(file['nodes']) ?? {})) {
    const files = recordOf(recordOf(node)?.['files']);
    if (files === undefined) {
      nodes.push([name, node]);
      continue;
    }
    const contents: [string, unknown][] = [];
    for (const [path, from] of Object.entries(files)) {
      const given = typeof from === 'string' ? chosen.get(from.split('/').at(-1) ?? '') : undefined;
      if (typeof from !== 'string') contents.push([path, from]);
      else if (given === undefined) missing.push(texts.missing(name, from));
      else if (given.size > LARGEST_FILE) missing.push(texts.large(from));
      else contents.push([path, await contentOf(given)]);
    }
    nodes.push([name, { ...recordOf(node), files: Object.fromEntries(contents) }]);
  }
  const body = nodes.length === 0 ? file : { ...file, nodes: Object.fromEntries(nodes) };
  return { body: missing.length === 0 ? body : undefined, faults: missing };
}

async function contentOf(file: File): Promise<object> {
  const octets = new Uint8Array(await file.arrayBuffer());
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(octets) };
  } catch {
    let signs = '';
    for (const octet of octets) signs += String.fromCharCode(octet);
    return { base64: btoa(signs) };
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
