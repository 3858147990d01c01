/** A lab file on this host: YAML (or JSON) as a value for the server, and the line of each part for messages. */
import { readdirSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import { CommandError } from './command-error.js';
import { isContainerlab, mappedLab } from './containerlab.js';
import { isRecord } from './server.js';

/** Larger files are no lab files. */
const LARGEST_SOURCE = 8 * 1024 * 1024;
const LARGEST_FILE = 1024 * 1024;
/** Aliases that are followed; a file with more would be larger than it looks. */
const MOST_ALIASES = 100;
/** The most files of one folder; the server takes no more of a node. */
const MOST_FILES = 64;
const MOST_ERRORS = 5;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Path = readonly (string | number)[];

interface Reading {
  /** The path of a file that says what nodes of a kind of containerlab become. */
  readonly kinds: string | undefined;
  readonly onUnmapped: (told: string) => void;
}

export class LabSource {
  readonly path: string;
  readonly name: string;
  /** The value for the server, with the contents of the files of nodes. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly #document: Document;
  readonly #lines: LineCounter;
  /** The part of the file that has nodes and links. */
  readonly #root: Path;

  private constructor(
    path: string,
    value: Record<string, unknown>,
    { document, lines, root }: { document: Document; lines: LineCounter; root: Path },
  ) {
    this.path = path;
    this.#root = root;
    this.name = String(value['name']);
    this.value = value;
    this.#document = document;
    this.#lines = lines;
  }

  /** Reads a lab file, or a lab of containerlab, of which `onUnmapped` gets what has no counterpart. Throws CommandError, which says the line. */
  static async read(path: string, { kinds, onUnmapped }: Reading): Promise<LabSource> {
    const text = decoded(path, await bytesOf(path, LARGEST_SOURCE));
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines });
    if (document.errors.length > 0) {
      const told = document.errors
        .slice(0, MOST_ERRORS)
        .map(
          ({ pos: [at], message }) => `${path}:${lines.linePos(at).line}: ${message.split('\n')[0] ?? ''}`,
        );
      throw new CommandError(told.join('\n'));
    }
    const given = valueOf(path, document);
    const mapped = isContainerlab(given)
      ? mappedLab(given, {
          kinds: await kindsIn(kinds),
          isFolder: (name) => isFolder(join(dirname(path), name)),
        })
      : undefined;
    const value = mapped?.value ?? given;
    const root = mapped === undefined ? [] : ['topology'];
    const source = new LabSource(path, value, { document, lines, root });
    for (const part of mapped?.unmapped ?? [])
      onUnmapped(`${path}:${source.#lineOf(part.path)}: ${part.path.join('.')}: ${part.reason}`);
    if (typeof value['name'] !== 'string')
      throw source.fault(['name'], 'a lab file has a name, which is a text');
    await source.#takeFilesIn(value['nodes']);
    return source;
  }

  /** The error for a part of the file. */
  fault(path: Path, reason: string): CommandError {
    return new CommandError(this.told(path, reason));
  }

  /** `FILE:LINE: field: reason` */
  told(path: Path, reason: string): string {
    const field = path.length === 0 ? '' : `${path.join('.')}: `;
    return `${this.path}:${this.#lineOf([...this.#root, ...path])}: ${field}${reason}`;
  }

  /** Replaces the paths of files by what is in them. */
  async #takeFilesIn(nodes: unknown): Promise<void> {
    if (!isRecord(nodes)) return;
    for (const [name, node] of Object.entries(nodes)) {
      if (!isRecord(node) || !isRecord(node['files'])) continue;
      const taken: Record<string, unknown> = {};
      for (const [target, from] of Object.entries(node['files'])) {
        if (typeof from !== 'string') {
          taken[target] = from;
          continue;
        }
        try {
          for (const [path, below] of filesAt(resolve(dirname(this.path), from)))
            taken[`${target}${below}`] = contentOf(await bytesOf(path, LARGEST_FILE));
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          throw this.fault(['nodes', name, 'files', target], reason);
        }
      }
      node['files'] = taken;
    }
  }

  #lineOf(path: Path): number {
    let node: unknown = this.#document.contents;
    let at = offsetOf(node) ?? 0;
    for (const part of path) {
      if (isAlias(node)) node = node.resolve(this.#document);
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
        if (pair === undefined) break;
        at = offsetOf(pair.key) ?? at;
        node = pair.value;
      } else if (isSeq(node)) {
        // A link may be written as the list of its ends.
        if (typeof part !== 'number') continue;
        node = node.items[part];
        at = offsetOf(node) ?? at;
      }
    }
    return this.#lines.linePos(at).line;
  }
}

/** The file that says what nodes of a kind become. */
async function kindsIn(path: string | undefined): Promise<Record<string, unknown>> {
  if (path === undefined) return {};
  const document = parseDocument(decoded(path, await bytesOf(path, LARGEST_FILE)));
  const [error] = document.errors;
  if (error !== undefined) throw new CommandError(`${path}: ${error.message.split('\n')[0] ?? ''}`);
  return valueOf(path, document);
}

function offsetOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

function valueOf(path: string, document: Document): Record<string, unknown> {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (error) {
    throw new CommandError(`${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  if (isRecord(value)) return value;
  throw new CommandError(`${path}:1: a lab file is a map with name, nodes and links`);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The file at a path, or all files in the folder there, each with its path below that. Links in it are not followed. */
function filesAt(path: string): [path: string, below: string][] {
  if (!isFolder(path)) return [[path, '']];
  const found: [string, string][] = [];
  const enter = (below: string): void => {
    for (const entry of readdirSync(`${path}${below}`, { withFileTypes: true })) {
      const next = `${below}/${entry.name}`;
      if (entry.isDirectory()) enter(next);
      else if (entry.isFile()) found.push([`${path}${next}`, next]);
      if (found.length > MOST_FILES) throw new CommandError(`${path} has more than ${MOST_FILES} files`);
    }
  };
  enter('');
  return found;
}

async function bytesOf(path: string, largest: number): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > largest) throw new CommandError(`${path} is larger than ${largest} bytes`);
    return await readFile(path);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new CommandError(`cannot read ${path} (${reason})`, { cause: error });
  }
}

function decoded(path: string, bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch (error) {
    throw new CommandError(`${path} is no text in UTF-8`, { cause: error });
  }
}

function contentOf(bytes: Buffer): Record<string, string> {
  try {
    return { text: UTF8.decode(bytes) };
  } catch {
    return { base64: bytes.toString('base64') };
  }
}
