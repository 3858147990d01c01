/** The measured works, in the order in which a project has them happen. Every result is compared with the files. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { WIREFARM, type Side, type Stage } from './stage.js';
import type { WorkPlace } from './work-place.js';

const FIRST = 'first';
const SECOND = 'second';
const COPY = 'first-copy';
const EXPORT = 'export.gns3project';

const wirefarm = (measure: Side['measure']): Side => ({ name: WIREFARM, measure });

/** Each round ends with the files and the snapshots that it began with. */
export function snapshotStages(place: WorkPlace, aim?: string): Stage[] {
  const { lab, files } = place;
  return [
    {
      name: 'create',
      ...(aim === undefined ? {} : { aim }),
      sides: [
        wirefarm(() => lab.createSnapshot(FIRST)),
        ...place.zip('first.zip', '-0'),
        ...place.copy(files.root, COPY),
      ],
    },
    {
      name: 'create again after a change of 1 %',
      prepare: () => files.change(),
      sides: [
        wirefarm(() => lab.createSnapshot(SECOND)),
        ...place.zip('second.zip', '-0'),
        ...place.copy(files.root, 'second-copy'),
      ],
      tidy: () => {
        place.remove('second.zip', 'second-copy');
      },
    },
    {
      name: 'restore',
      sides: [
        wirefarm(() => lab.restore(FIRST)),
        ...place.unzip('first.zip', 'unzipped'),
        ...place.copy(place.path(COPY), 'copied-back'),
      ],
      tidy: async () => {
        await place.check(place.path(COPY));
        place.remove('first.zip', 'unzipped', 'copied-back', COPY);
        await lab.deleteSnapshots();
      },
    },
  ];
}

export function archiveStages(place: WorkPlace): Stage[] {
  const { lab, files } = place;
  const name = basename(files.root);
  const { contentMiB } = files;
  return [
    {
      name: 'export, nothing packed',
      contentMiB,
      sides: [wirefarm(() => lab.export(place.path(EXPORT), 'none')), ...place.zip('peer.zip', '-0')],
      tidy: () => {
        place.remove('peer.zip');
      },
    },
    {
      name: 'import',
      contentMiB,
      sides: [
        wirefarm(() => lab.import(place.path(EXPORT), (folder) => place.check(join(folder, name)))),
        ...place.unzip(EXPORT, 'unzipped'),
      ],
      tidy: async () => {
        // GNS3 and others read what is exported.
        if (existsSync(place.path('unzipped'))) await place.check(join(place.path('unzipped'), name));
        place.remove('unzipped', EXPORT);
      },
    },
    {
      name: 'export, packed',
      rounds: 1,
      contentMiB,
      sides: [wirefarm(() => lab.export(place.path(EXPORT), 'zip')), ...place.zip('peer.zip', '-6')],
      tidy: () => {
        place.remove('peer.zip', EXPORT);
      },
    },
  ];
}
