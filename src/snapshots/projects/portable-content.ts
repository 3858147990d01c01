/** Changes the content of a project for an archive that others import. Pure. */
import { posix } from 'node:path';
import type { Emulator } from '../../files/images/image-name.js';
import { LOCAL_COMPUTE, type StoredNode } from '../../lab/gns3-file/topology-schema.js';
import { kindOfType } from '../../lab/kinds/node-kinds.js';
import type { LabContent } from '../lab-content.js';

export interface NamedImage {
  readonly emulator: Emulator;
  /** The node's own value: a path in the emulator's folder of images, or an absolute path. */
  readonly name: string;
}

const ADDRESSES = ['mac_addr', 'mac_address'];

/** Without anything of this host: no computes, no absolute paths of images. */
export function portableContent(content: LabContent): LabContent {
  const nodes = content.nodes.map((node) => {
    const images = imagesOf(node).map(([key, name]) => [key, baseName(name)] as const);
    return withProperties({ ...node, compute_id: LOCAL_COMPUTE }, images);
  });
  return { ...content, computes: [], nodes };
}

/** Without MAC addresses: the importing server chooses new ones. */
export function withoutAddresses(content: LabContent): LabContent {
  const nodes = content.nodes.map((node) => {
    const found = ADDRESSES.filter((key) => node.properties?.[key] !== undefined);
    return withProperties(
      node,
      found.map((key) => [key, null] as const),
    );
  });
  return { ...content, nodes };
}

/** Each image once, in the order of the nodes. */
export function imagesNamed({ nodes }: LabContent): NamedImage[] {
  const found = new Map<string, NamedImage>();
  for (const node of nodes) {
    for (const [, name] of imagesOf(node)) {
      const image = { emulator: node.node_type as Emulator, name };
      found.set(`${image.emulator} ${name}`, image);
    }
  }
  return [...found.values()];
}

export function baseName(path: string): string {
  return posix.basename(path.replaceAll('\\', '/'));
}

function imagesOf({ node_type: type, properties = {} }: StoredNode): [key: string, name: string][] {
  const { imageProperties } = kindOfType(type);
  return Object.entries(properties).flatMap(([key, value]): [string, string][] =>
    imageProperties.includes(key) && typeof value === 'string' && value !== '' ? [[key, value]] : [],
  );
}

function withProperties(node: StoredNode, changed: readonly (readonly [string, unknown])[]): StoredNode {
  if (changed.length === 0) return node;
  return { ...node, properties: { ...node.properties, ...Object.fromEntries(changed) } };
}
