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

interface NodeUse extends ImageUse {
  readonly project_id: string;
  /** The images that the node names. */
  readonly images: readonly string[];
}

export type UsingProject = Pick<Project, 'id' | 'isOpen' | 'name' | 'storedRecords' | 'topology'>;

/** The first node of a project, open or closed, that has an image by one of these names. */
export async function findImageUse(
  projects: Iterable<UsingProject>,
  emulator: Emulator,
  names: readonly string[],
): Promise<ImageUse | undefined> {
  for await (const { node, project, images } of usesOfImages(projects, emulator))
    if (images.some((image) => names.includes(image))) return { node, project };
  return undefined;
}

/** The nodes of projects, open or closed, that name images of an emulator. */
export async function* usesOfImages(
  projects: Iterable<UsingProject>,
  emulator: Emulator,
): AsyncGenerator<NodeUse> {
  for (const project of projects) {
    for (const node of await nodesOf(project)) {
      const images = imagesOf(node, emulator);
      if (images.length > 0) yield { node: node.name, project: project.name, project_id: project.id, images };
    }
  }
}

export function usesImage(
  node: Pick<StoredNode, 'node_type' | 'properties'>,
  emulator: Emulator,
  names: readonly string[],
): boolean {
  return imagesOf(node, emulator).some((image) => names.includes(image));
}

function imagesOf(
  { node_type: type, properties = {} }: Pick<StoredNode, 'node_type' | 'properties'>,
  emulator: Emulator,
): string[] {
  if (type !== emulator) return [];
  return kindOfType(type).imageProperties.flatMap((key) => {
    const value = properties[key];
    return typeof value === 'string' && value !== '' ? [value.replaceAll('\\', '/')] : [];
  });
}

async function nodesOf(project: UsingProject): Promise<readonly StoredNode[]> {
  if (project.isOpen) return [...project.topology.nodes.values()];
  const records = (await project.storedRecords())?.entities.node ?? [];
  return (records as EntityRecord<StoredNode>[]).map(({ object }) => object);
}
