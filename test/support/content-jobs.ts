/** Works on a content store that is killed meanwhile. */
import { join } from 'node:path';
import { JobProgress } from '../../src/snapshots/content/job-progress.js';
import { publishManifest, removeManifest } from '../../src/snapshots/content/manifest.js';
import type { ContentRig } from './content-rig.js';

export type ContentJob = (rig: ContentRig, ids: readonly string[]) => void;

export const contentJobs = {
  take: (rig, [older = '', id = '']) => {
    rig.take(older, id);
  },

  remove: (rig, [id = '']) => {
    removeManifest(rig.folder, id);
    rig.store.collect();
  },

  build: (rig, [id = '']) => {
    rig.store.build(rig.manifest(id).tree, join(rig.scratch, 'target'), new JobProgress());
  },

  seal: (rig, [id = '']) => {
    const { head, topology, tree } = rig.manifest(id);
    const sealed = rig.store.seal(tree, new JobProgress());
    publishManifest(rig.folder, { ...head, isSealed: true }, topology, sealed);
  },
} satisfies Readonly<Record<string, ContentJob>>;

export function isContentJob(name: string): name is keyof typeof contentJobs {
  return name in contentJobs;
}
