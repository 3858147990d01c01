/** What the head of a manifest says of a snapshot. Runs in worker threads. */
import type { ContentTree } from './content/content-tree.js';
import type { ManifestHead } from './content/manifest.js';
import type { LabContent } from './lab-content.js';

export function factsOf({ files }: ContentTree): Pick<ManifestHead, 'files' | 'isSealed' | 'size'> {
  return {
    size: files.reduce((sum, { size }) => sum + size, 0),
    files: files.length,
    isSealed: files.every(({ digest }) => digest !== undefined),
  };
}

export function countsOf({ nodes, links, drawings }: LabContent): ManifestHead['counts'] {
  return { nodes: nodes.length, links: links.length, drawings: drawings.length };
}
