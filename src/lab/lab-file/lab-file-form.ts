/** The form of a lab file: what its author may write, and how much of it. Positions of faults are paths in the file. */
import { z } from 'zod';
import {
  consoleType,
  coordinate,
  nodeType,
  openObject,
  rotation,
  text,
} from '../gns3-file/topology-schema.js';
import { givenAdapters } from '../kinds/custom-adapters.js';
import { LARGEST_PORT_COUNT } from '../kinds/ports-mapping.js';

const MOST_NODES = 5000;
const MOST_LINKS = 10_000;
const MOST_DRAWINGS = 1000;
const MOST_FILES = 64;
const MOST_BEFORE = 64;
const LONGEST_PATH = 1024;
const LONGEST_CONTENT = 1_048_576;
const LONGEST_PICTURE = 1_048_576;

/** Names that the server keeps as they are: it removes blanks, and numbers names with braces. */
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const NODE_NAME = /^[^\s"{}\x00-\x1f]+$/;
const nodeName = text(1, 255).regex(NODE_NAME, 'a name of a node has no blanks, quotes and braces');
const LINK_END = /^.+:[^:]+$/;
const linkEnd = text(3, 512).regex(LINK_END, 'an end of a link is NODE:PORT');
const digest = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest in lower case');

/** The content of a file of a node; a digest alone stands for content that the lab was given before. */
const content = z.union([
  z.strictObject({ text: z.string().max(LONGEST_CONTENT) }),
  z.strictObject({ base64: z.base64().max(LONGEST_CONTENT) }),
  z.strictObject({ sha256: digest }),
]);
export type FileContent = z.output<typeof content>;

/** The settings that a node has beside its properties, by their names on the HTTP interface. */
const settings = z
  .strictObject({
    console_auto_start: z.boolean(),
    console_type: consoleType,
    custom_adapters: givenAdapters,
    first_port_name: z.string().max(255).nullable(),
    port_name_format: z.string().max(255),
    port_segment_size: z.int().min(0),
    symbol: text(1, 255),
  })
  .partial();
export const SETTINGS = settings.keyof().options;

const defaults = settings.extend({
  /** The number of ports of a switch or a hub. */
  ports: z.int().min(1).max(LARGEST_PORT_COUNT).optional(),
  properties: openObject.optional(),
  start: z.boolean().optional(),
});
const at = z.union([z.tuple([coordinate, coordinate]), z.tuple([coordinate, coordinate, coordinate])]);

const node = defaults
  .extend({
    after: z.array(nodeName).max(MOST_BEFORE).optional(),
    at: at.optional(),
    files: z
      .record(text(1, LONGEST_PATH), content)
      .refine(
        (files) => Object.keys(files).length <= MOST_FILES,
        `a node has at most ${MOST_FILES} files here`,
      )
      .optional(),
    kind: nodeType.optional(),
    template: text(1, 255).optional(),
  })
  .refine(({ kind, template }) => (kind === undefined) !== (template === undefined), {
    message: 'a node has either a kind or a template',
  });
export type LabNode = z.output<typeof node>;

const capture = z.strictObject({
  bpf: z.string().min(1).max(4096).optional(),
  capture_file_name: text(1, 200).optional(),
  format: z.enum(['pcap', 'pcapng']).optional(),
  snaplen: z.int().min(1).max(262_144).optional(),
});

const link = z.strictObject({
  capture: capture.optional(),
  ends: z.tuple([linkEnd, linkEnd]),
  filters: openObject.optional(),
  suspend: z.boolean().optional(),
});
export type LabLink = z.output<typeof link>;

/** A link may be written as its two ends alone. */
const shortLink = z.preprocess((given) => (Array.isArray(given) ? { ends: given } : given), link);

const drawing = z.strictObject({
  at: at.optional(),
  rotation: rotation.optional(),
  svg: text(1, LONGEST_PICTURE),
});

const boundedRecord = <Value extends z.ZodType>(
  key: z.ZodString,
  value: Value,
  most: number,
): z.ZodRecord<z.ZodString, Value> =>
  z.record(key, value).refine((record) => Object.keys(record).length <= most, `has at most ${most} entries`);

export const labFile = z
  .strictObject({
    drawings: boundedRecord(text(1, 255), drawing, MOST_DRAWINGS).default({}),
    kinds: z.partialRecord(nodeType, defaults).default({}),
    links: z.array(shortLink).max(MOST_LINKS).default([]),
    name: text(1, 200),
    nodes: boundedRecord(nodeName, node, MOST_NODES).default({}),
  })
  .superRefine(({ nodes, links }, context) => {
    const refuse = (path: (string | number)[], message: string): void => {
      context.addIssue({ code: 'custom', path, message, input: undefined });
    };
    for (const [index, { ends }] of links.entries()) {
      for (const [side, end] of ends.entries()) {
        const { node: name } = endOf(end);
        if (nodes[name] === undefined)
          refuse(['links', index, 'ends', side], `there is no node ${name} in this file`);
      }
    }
    for (const [name, { after = [] }] of Object.entries(nodes)) {
      for (const [index, before] of after.entries()) {
        if (nodes[before] === undefined)
          refuse(['nodes', name, 'after', index], `there is no node ${before} in this file`);
      }
    }
    const circle = nodeInCircle(nodes);
    if (circle !== undefined)
      refuse(['nodes', circle, 'after'], 'a node cannot wait for itself, by way of others either');
  });
export type LabFile = z.output<typeof labFile>;

/** The node and the port of an end, which is `NODE:PORT`. */
export function endOf(end: string): { readonly node: string; readonly port: string } {
  const colon = end.lastIndexOf(':');
  return { node: end.slice(0, colon), port: end.slice(colon + 1) };
}

/** A node that waits for itself; undefined when the nodes can be started in an order. */
function nodeInCircle(
  nodes: Readonly<Record<string, { readonly after?: readonly string[] | undefined }>>,
): string | undefined {
  const waiting = new Map(Object.entries(nodes).map(([name, { after = [] }]) => [name, after.length]));
  const followers = new Map<string, string[]>();
  for (const [name, { after = [] }] of Object.entries(nodes)) {
    for (const before of after) {
      const list = followers.get(before);
      if (list === undefined) followers.set(before, [name]);
      else list.push(name);
    }
  }
  const free = [...waiting].flatMap(([name, count]) => (count === 0 ? [name] : []));
  for (let name = free.pop(); name !== undefined; name = free.pop()) {
    waiting.delete(name);
    for (const follower of followers.get(name) ?? []) {
      const left = (waiting.get(follower) ?? 0) - 1;
      waiting.set(follower, left);
      if (left === 0) free.push(follower);
    }
  }
  const [first] = waiting.keys();
  return first;
}
