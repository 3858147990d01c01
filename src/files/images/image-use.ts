/** Which node uses an image: the kind of a node says which of its properties name one. */
import type { Project } from '../../lab/projects/project.js';
import type { EntityRecord } from '../../lab/projects/records.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';
import { kindOfType } from '../../lab/kinds/node-kinds.js';
import type { Emulator } from './image-name.js';

interface ImageUse {
  readonly node: string;
  readonly project: string;
}

export type UsingProject = Pick<Project, 'isOpen' | 'name' | 'storedRecords' | 'topology'>;

/** The first node of a project, open or closed, that has an image by one of these names. */
export async function findImageUse(
  projects: Iterable<UsingProject>,
  emulator: Emulator,
  names: readonly string[],
): Promise<ImageUse | undefined> {
  for (const project of projects) {
    for (const node of await nodesOf(project)) {
      if (usesImage(node, emulator, names)) return { node: node.name, project: project.name };
    }
  }
  return undefined;
}

export function usesImage(
  { node_type: type, properties = {} }: Pick<StoredNode, 'node_type' | 'properties'>,
  emulator: Emulator,
  names: readonly string[],
): boolean {
  if (type !== emulator) return false;
  return kindOfType(type).imageProperties.some((key) => {
    const value = properties[key];
    return typeof value === 'string' && names.includes(value.replaceAll('\\', '/'));
  });
}

async function nodesOf(project: UsingProject): Promise<readonly StoredNode[]> {
  if (project.isOpen) return [...project.topology.nodes.values()];
  const records = (await project.storedRecords())?.entities.node ?? [];
  return (records as EntityRecord<StoredNode>[]).map(({ object }) => object);
}
