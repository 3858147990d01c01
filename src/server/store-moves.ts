/** `wirefarm farm join` and `leave`: the records of a server that does not run go to the etcd of a farm, or come back. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FolderHeld, lockFolders } from '../base/disk/folder-lock.js';
import { EtcdStore } from '../base/store/etcd/etcd-store.js';
import { StateThread } from '../base/store/state-thread.js';
import type { Change, Store, StoredRecord } from '../base/store/store.js';
import { carry, projectsIn, type Carried } from '../farm/carrying.js';
import { ALONE, IN_FARM, SHARED_RECORDS } from '../farm/farm-store.js';
import { ABOUT_PROJECTS, removing, type ProjectRecord } from '../lab/projects/records.js';
import { ConfigError } from './config-error.js';
import type { Config } from './config.js';
import { withAccess } from './etcd-files.js';
import { serverMark } from './folders.js';

/** Records of a server that has died are there for some seconds more. */
const TRIES = 15;
const PAUSE_MS = 1000;
const OWN = 0o700;

interface Left extends Carried {
  /** The names of projects that stay in the farm, because their folders are elsewhere. */
  readonly staying: readonly string[];
}

/** Throws an error whose message is for whoever asks; then nothing has changed. */
export async function joinFarm(config: Config): Promise<Carried> {
  if (!existsSync(config.state)) throw new Error(`no server has kept its state in ${config.state}`);
  return withStores(config, (local, farm) => {
    const { servers = [], prefix = '' } = config.farm ?? {};
    const away: Change = { put: IN_FARM, value: `${servers.join(', ')} ${prefix}` };
    return carry({
      ...{ source: local, target: farm, server: serverMark(config), besides: [] },
      choose: (records) => records,
      cleared: () => [...SHARED_RECORDS.map((clear) => ({ clear })), away],
    });
  });
}

/** The projects whose folders are in the projects folder come back, and what belongs to all as far as it does not concern other projects. */
export async function leaveFarm(config: Config): Promise<Left> {
  if (!existsSync(config.state)) mkdirSync(config.state, { recursive: true, mode: OWN });
  return withStores(config, async (local, farm) => {
    let staying: readonly StoredRecord[] = [];
    const carried = await carry({
      ...{ source: farm, target: local, server: serverMark(config), besides: [{ remove: IN_FARM }] },
      choose: (records) => {
        const projects = projectsIn(records);
        staying = projects.filter((project) => folderOf(project, config) === undefined);
        return staying.length > 0 && staying.length === projects.length
          ? []
          : chosen(records, staying, config);
      },
      cleared: (records) =>
        staying.length === 0
          ? SHARED_RECORDS.map((clear) => ({ clear }))
          : projectsIn(records).flatMap(({ key: [, id = ''] }) => removing(id)),
    });
    return { ...carried, staying: staying.map(({ value }) => (value as ProjectRecord).settings.name) };
  });
}

function chosen(
  records: readonly StoredRecord[],
  staying: readonly StoredRecord[],
  config: Config,
): readonly StoredRecord[] {
  const ids = new Set(staying.map(({ key: [, id = ''] }) => id));
  const ofOneProject = new Set(['head', 'lab', ...Object.values(ABOUT_PROJECTS).map(([first]) => first)]);
  return records
    .filter(({ key: [first = '', second = ''] }) => !(ofOneProject.has(first) && ids.has(second)))
    .map((record) => {
      const path = projectsIn([record]).length === 0 ? undefined : folderOf(record, config);
      return path === undefined ? record : { ...record, value: { ...(record.value as ProjectRecord), path } };
    });
}

/** The folder of a project in the projects folder; undefined when it has none there. */
function folderOf({ key: [, id = ''], value }: StoredRecord, { projects }: Config): string | undefined {
  const { path } = value as ProjectRecord;
  return [path, join(projects, id)].find((at) => dirname(at) === projects && existsSync(at));
}

async function withStores<Result>(
  config: Config,
  use: (local: Store, farm: Store) => Promise<Result>,
): Promise<Result> {
  if (config.farm === undefined) throw new ConfigError('say which farm: --farm etcd://host:2379,host:2379');
  hold(config.state);
  const address = await withAccess(config.farm, config.farmAccess);
  const farm = new EtcdStore({ ...address, server: serverMark(config), chain: ALONE });
  try {
    await haveAlone(farm);
    const local = new StateThread(config.state);
    try {
      await local.open();
      return await use(local, farm);
    } finally {
      await local.close();
    }
  } finally {
    await farm.close();
  }
}

/** Makes sure that no server runs on the farm, and none starts. */
async function haveAlone(farm: EtcdStore): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await farm.claim(ALONE, ['server']);
    const others =
      'heldBy' in outcome ? [outcome.heldBy] : outcome.reading.records.map(({ key: [, name = ''] }) => name);
    if (others.length === 0) return;
    if ('claim' in outcome) await outcome.claim.release();
    if (attempt === TRIES)
      throw new Error(`servers run on the farm (${others.join(', ')}): stop them first, all of them`);
    await sleep(PAUSE_MS);
  }
}

/** Throws when a server runs, or when this user would leave files that the server cannot use. */
function hold(state: string): void {
  const { uid } = statSync(state);
  if (uid !== process.geteuid?.())
    throw new Error(`the folder ${state} is of another user of this machine (${uid}): run this as that user`);
  try {
    lockFolders([state]);
  } catch (error) {
    if (!(error instanceof FolderHeld)) throw error;
    throw new Error(`${error.message}: stop that one first`, { cause: error });
  }
}
