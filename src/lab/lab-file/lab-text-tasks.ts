/** Lab files as their authors write them, in YAML: read and written in worker threads, which load what reads them when it is needed. */
import type { Document, Pair } from 'yaml';
import type { Fault } from '../../base/errors/errors.js';
import { describeIssues, faultsOf, fitted } from '../../base/errors/validation.js';
import type { TaskTable } from '../../base/threads/task.js';
import type { LabFile } from './lab-file-form.js';

/** A longer text holds a thread for too long. */
export const LONGEST_LAB_TEXT = 262_144;
/** Aliases that are followed, and the length that they may make of a text. */
const MOST_ALIASES = 100;
const LONGEST_VALUE = 2_097_152;
const MOST_FAULTS = 20;

type Path = readonly PropertyKey[];

interface TextFault {
  readonly line: number;
  readonly message: string;
}

export interface LabTextTasks extends TaskTable {
  /** Reads a lab file. The answer is JSON: the file with its faults, of which the first have lines; null when it is no YAML. */
  readonly readLabText: (input: { text: string }) => Promise<string>;
  /** Parses what a client has sent as a lab file; or says why it is none. */
  readonly checkLabFile: (input: {
    given: unknown;
  }) => Promise<{ readonly data: LabFile } | { readonly issues: string; readonly faults: readonly Fault[] }>;
  /** Writes a lab file; places and ends of links are written in one line each. */
  readonly writeLabText: (input: { file: Readonly<Record<string, unknown>> }) => Promise<string>;
}

export const labTextTasks: LabTextTasks = {
  async readLabText({ text }) {
    const { LineCounter, parseDocument } = await import('yaml');
    const lines = new LineCounter();
    const answer = (file: unknown, faults: readonly TextFault[]): string =>
      JSON.stringify({ lab_file: file, faults: faults.slice(0, MOST_FAULTS) });
    try {
      // Keys are compared below, in one turn: the parser compares each with all others.
      const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false });
      const lineOf = (path: Path): number => lines.linePos(offsetIn(document, path)).line;
      const errors = document.errors.map(({ pos: [at], message }) => ({
        line: lines.linePos(at).line,
        message: message.split('\n')[0] ?? '',
      }));
      if (errors.length > 0) return answer(null, errors);
      const twice = await repeatedKeys(document);
      if (twice.length > 0)
        return answer(
          null,
          twice.map(({ key, at }) => ({ line: lines.linePos(at).line, message: `${key}: stands twice` })),
        );
      const file: unknown = document.toJS({ maxAliasCount: MOST_ALIASES });
      if (!isRecord(file))
        return answer(null, [{ line: 1, message: 'a lab file is a map with name, nodes and links' }]);
      if (JSON.stringify(file).length > LONGEST_VALUE)
        return answer(null, [
          { line: 1, message: 'the file is larger than it looks: its aliases make too much of it' },
        ]);
      const { labFile } = await import('./lab-file-form.js');
      const { error } = fitted(labFile, withFiles(file));
      const faults = error?.issues.map(({ path, message }) => ({
        line: lineOf(path),
        message: `${path.map(String).join('.')}: ${message}`,
      }));
      return answer(file, faults ?? []);
    } catch (error) {
      return answer(null, [{ line: 1, message: error instanceof Error ? error.message : String(error) }]);
    }
  },

  async checkLabFile({ given }) {
    const { labFile } = await import('./lab-file-form.js');
    const { data, error } = fitted(labFile, given);
    return data === undefined ? { issues: describeIssues(error), faults: faultsOf(error) } : { data };
  },

  async writeLabText({ file }) {
    const { isMap, isSeq, parseDocument, stringify, visit } = await import('yaml');
    const { name, kinds, nodes, links, drawings } = file;
    const shortLinks = Array.isArray(links)
      ? links.map((link: unknown) => (isRecord(link) && Object.keys(link).length === 1 ? link['ends'] : link))
      : [];
    const parts = Object.entries({ kinds, nodes, links: shortLinks, drawings });
    const filled = parts.filter(([, part]) => Object.keys(Object(part) as object).length > 0);
    const document = parseDocument(stringify({ name, ...Object.fromEntries(filled) }));
    visit(document, {
      Seq: (_key, seq) => {
        if (seq.items.every((item) => !isMap(item) && !isSeq(item))) seq.flow = true;
      },
    });
    return document.toString();
  },
};

/** The offset of a part of the file; of one that is missing, that of what should have it. */
function offsetIn(document: Document, path: Path): number {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    const { range } = Object(node) as { readonly range?: readonly number[] };
    if (range?.[0] !== undefined) return range[0];
  }
  return document.contents?.range?.[0] ?? 0;
}

async function repeatedKeys(document: Document): Promise<{ readonly key: string; readonly at: number }[]> {
  const { isScalar, visit } = await import('yaml');
  const found: { key: string; at: number }[] = [];
  visit(document, {
    Map: (_key, { items }) => {
      const known = new Set<string>();
      for (const { key } of items as readonly Pair[]) {
        if (!isScalar(key)) continue;
        const text = String(key.value);
        if (known.has(text)) found.push({ key: text, at: key.range?.[0] ?? 0 });
        known.add(text);
      }
    },
  });
  return found;
}

/** Files of nodes may be paths, which whoever applies the file replaces by what is in them. */
function withFiles(file: Readonly<Record<string, unknown>>): unknown {
  const { nodes } = file;
  if (!isRecord(nodes)) return file;
  const whole = Object.entries(nodes).map(([name, node]) => {
    const files = isRecord(node) ? node['files'] : undefined;
    if (!isRecord(node) || !isRecord(files)) return [name, node];
    const contents = Object.entries(files).map(([path, from]) => [
      path,
      typeof from === 'string' ? { text: '' } : from,
    ]);
    return [name, { ...node, files: Object.fromEntries(contents) as unknown }];
  });
  return { ...file, nodes: Object.fromEntries(whole) as unknown };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
