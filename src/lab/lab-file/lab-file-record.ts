/** The record of the lab file of a project in the store, apart from the objects of the lab, whose keys are those of GNS3. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { uuid } from '../gns3-file/topology-schema.js';
import { labFile, type FileContent, type LabFile } from './lab-file-form.js';

/** The id of the one record that a project has. */
export const LAB_FILE = 'lab-file';

export const labFileRecord = z.object({
  /** The file that was applied last, to its end. */
  applied: labFile.nullable(),
  /** The file whose application has begun and has not ended. */
  under_way: labFile.nullable(),
  /** The ids of drawings, by their keys in these files. */
  drawings: z.record(z.string(), uuid),
});
export type LabFileRecord = z.output<typeof labFileRecord>;

export const NO_LAB_FILE: LabFileRecord = { applied: null, under_way: null, drawings: {} };

/** The file without the contents of the files of its nodes, whose digests are kept. */
export function withoutContents(file: LabFile): LabFile {
  const nodes = Object.entries(file.nodes).map(([name, node]) => {
    if (node.files === undefined) return [name, node] as const;
    const files = Object.entries(node.files).map(([path, content]) => [path, { sha256: digestOf(content) }]);
    return [
      name,
      { ...node, files: Object.fromEntries(files) as LabFile['nodes'][string]['files'] },
    ] as const;
  });
  return { ...file, nodes: Object.fromEntries(nodes) };
}

export function digestOf(content: FileContent): string {
  if ('sha256' in content) return content.sha256;
  return createHash('sha256').update(bytesOf(content)).digest('hex');
}

export function bytesOf(content: Exclude<FileContent, { readonly sha256: string }>): Buffer {
  return 'text' in content ? Buffer.from(content.text) : Buffer.from(content.base64, 'base64');
}
