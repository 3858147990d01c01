/** Plans the archive of a project: its members in their order. Runs in worker threads. */
import { randomUUID } from 'node:crypto';
import { linkSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { readManifest } from '../content/manifest.js';
import { Refusal } from '../../base/errors/errors.js';
import { SNAPSHOTS } from '../../lab/projects/folder-layout.js';
import { renderTopology } from '../../lab/gns3-file/format.js';
import type { Packed } from '../../base/store/store.js';
import { writePlan, type PlannedMember, type PlannedPath, type PlanRoots } from '../archives/zip-plan.js';
import { plannedLabFile } from './archived-lab-file.js';
import { plannedMemories } from './archived-memories.js';
import type { SnapshotMemory } from '../known-memories.js';
import { gns3Archive } from './gns3-snapshots.js';
import { contentOfRecords, readLabContent, recordsOf, type LabContent } from '../lab-content.js';
import {
  dated,
  keepObjects,
  plannedFrozen,
  plannedStored,
  plannedText,
  portable,
  readable,
  ROOT,
} from './planned-files.js';
import {
  baseName,
  imagesNamed,
  portableContent,
  withoutAddresses,
  type NamedImage,
} from './portable-content.js';
import { ARCHIVE_EXTENSION, type ListedSnapshot, type Snapshot } from '../snapshot.js';
import { listSnapshots } from '../snapshot-list-tasks.js';
import type { JobPlace } from '../job-place.js';
import { readFrozen } from '../freeze-tasks.js';
import { checkExportable } from '../stopped-nodes.js';
import { IMAGE_FOLDERS, imageName } from '../../files/images/image-name.js';
import { imageTasks } from '../../files/images/image-tasks.js';
import { versionOf } from '../../base/disk/regular-file.js';
import { containedPath } from '../../base/disk/containment.js';

export interface ExportRequest {
  readonly includesSnapshots: boolean;
  /** With the snapshots. */
  readonly includesMemory: boolean;
  readonly includesImages: boolean;
  readonly resetsAddresses: boolean;
  readonly keepsComputes: boolean;
}

/** The project to export; its job folders keep all that the archive needs until it is made. */
export interface ExportedProject extends JobPlace {
  readonly projectId: string;
  readonly gns3Version: string;
}

const TOPOLOGY = 'project.gns3';
/** GNS3's name for the list of snapshots. */
const INDEX = 'snapshots.conf';
const ARCHIVE_MODE = 0o644;

/** Plans the files that `freezeProject` has kept. Returns the path of the plan, and warnings about what was left out. */
export function planProject(
  project: ExportedProject,
  records: Packed,
  imagesFolder: string,
  request: ExportRequest & { readonly memories: readonly SnapshotMemory[] },
): { plan: string; warnings: string[] } {
  const content = contentOfRecords(project.projectId, records);
  checkExportable(content.nodes);
  const exported = request.keepsComputes ? content : portableContent(content);
  const warnings: string[] = [];
  const plan = join(project.notes, 'project.plan');
  const images = request.includesImages
    ? plannedImages(imagesFolder, project.workFolder, imagesNamed(content))
    : [];
  const taken = new Set(images.map(({ path }) => path));
  const members = [
    topologyMember(project, request.resetsAddresses ? withoutAddresses(exported) : exported),
    ...images,
    ...plannedLabFile(content.labFile),
    ...portable(plannedFrozen(readFrozen(project)), warnings).filter(({ path }) => !taken.has(path)),
    ...(request.includesSnapshots ? plannedSnapshots(project, request.memories, warnings) : []),
  ];
  writePlan(plan, readable(dated(members), rootsOf(project, imagesFolder), warnings));
  return { plan, warnings };
}

/** Plans the archive that GNS3 would have made of a snapshot in the content store. */
export function planSnapshot(
  project: ExportedProject,
  snapshot: Snapshot,
): { plan: string; warnings: string[] } {
  const { topology, tree } = readManifest(join(project.root, SNAPSHOTS), snapshot.snapshot_id);
  const content = keepObjects(project, tree);
  const plan = join(project.notes, planName(snapshot));
  const warnings: string[] = [];
  const files = portable(plannedStored(tree, content), warnings);
  writePlan(plan, dated([topologyMember(project, readLabContent(topology)), ...files]));
  return { plan, warnings };
}

/** The folders that the plans of an export refer to. */
export function rootsOf({ root, workFolder, notes }: JobPlace, images: string): PlanRoots {
  return { [ROOT.project]: root, [ROOT.work]: workFolder, [ROOT.notes]: notes, [ROOT.images]: images };
}

function planName({ snapshot_id: id }: Snapshot): string {
  return `${id}.plan`;
}

function topologyMember({ projectId, gns3Version }: ExportedProject, content: LabContent): PlannedMember {
  const { settings, computes } = content;
  const records = recordsOf(content, { order: 0, path: '', filename: '', settings, computes });
  return plannedText(TOPOLOGY, renderTopology(projectId, records, gns3Version));
}

function plannedSnapshots(
  project: ExportedProject,
  memories: readonly SnapshotMemory[],
  warnings: string[],
): PlannedMember[] {
  // GNS3 would remove all files when it restores a snapshot of the topology alone.
  const listed = listSnapshots(join(project.root, SNAPSHOTS), project.projectId).filter(
    ({ form }) => form !== 'topology',
  );
  const taken = new Set<string>();
  const kept: Snapshot[] = [];
  const members = listed.flatMap((one): PlannedMember[] => {
    const filename = archiveName(one, taken);
    try {
      const member = plannedArchive(project, one, filename, warnings);
      taken.add(filename);
      kept.push({ ...one.snapshot, filename });
      return [member];
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      warnings.push(`Could not export the snapshot ${one.snapshot.name}: ${error.message}`);
      return [];
    }
  });
  if (kept.length === 0) return [];
  return [
    ...members,
    plannedText(`${SNAPSHOTS}/${INDEX}`, JSON.stringify(kept, undefined, 4)),
    ...plannedMemories(project, kept, memories, warnings),
  ];
}

function plannedArchive(
  project: ExportedProject,
  listed: ListedSnapshot,
  filename: string,
  warnings: string[],
): PlannedMember {
  const { root, workFolder } = project;
  const { snapshot, form } = listed;
  const head = { path: `${SNAPSHOTS}/${filename}`, kind: 'file', mode: ARCHIVE_MODE } as const;
  if (form === 'wirefarm') {
    warnings.push(...planSnapshot(project, snapshot).warnings);
    const archive = { root: ROOT.notes, path: planName(snapshot) };
    return { ...head, modifiedMs: snapshot.created_at * 1000, content: { archive }, size: 0 };
  }
  const path = gns3Archive(join(root, SNAPSHOTS), snapshot);
  const { size, modifiedMs, version } = factsOf(path);
  const name = `${randomUUID()}${ARCHIVE_EXTENSION}`;
  linkSync(path, join(workFolder, name));
  return { ...head, modifiedMs, content: { file: { root: ROOT.work, path: name } }, size, version };
}

/** The file name of the snapshot, unless it is no valid name, or is taken. */
function archiveName({ snapshot }: ListedSnapshot, taken: ReadonlySet<string>): string {
  const { filename, snapshot_id: id } = snapshot;
  const isName = /^[^/\\\0]+\.gns3(snapshot|project)$/.test(filename);
  return isName && !taken.has(filename) ? filename : `${id}${ARCHIVE_EXTENSION}`;
}

function factsOf(path: string): Pick<PlannedMember, 'mode' | 'modifiedMs' | 'size'> & { version: string } {
  const found = lstatSync(path, { bigint: true });
  const [mode, size] = [Number(found.mode) & 0o777, Number(found.size)];
  return { mode, modifiedMs: Number(found.mtimeMs), size, version: versionOf(found) };
}

const IMAGES = 'images';

/** The members for those images that exist here; each is kept until the export ends. `root` is the images folder. */
function plannedImages(root: string, workFolder: string, named: readonly NamedImage[]): PlannedMember[] {
  const keptImages = join(workFolder, IMAGES);
  mkdirSync(keptImages, { recursive: true });
  const members = new Map<string, PlannedMember>();
  for (const image of named) {
    const path = `${IMAGES}/${IMAGE_FOLDERS[image.emulator]}/${baseName(image.name)}`;
    const found = members.has(path) ? undefined : findImage(root, image);
    if (found === undefined) continue;
    const facts = factsOf(found);
    const file = keepImage(root, found, keptImages, String(members.size));
    members.set(path, { path, kind: 'file', content: { file }, ...facts });
  }
  return [...members.values()];
}

/** Undefined if the name, which a topology file may have chosen freely, is no image of this server. */
function findImage(root: string, { emulator, name }: NamedImage): string | undefined {
  const own = `${posix.join(root, IMAGE_FOLDERS[emulator])}/`;
  const wanted = name.startsWith(own) ? name.slice(own.length) : name;
  try {
    const fit = imageName(wanted.startsWith('/') ? baseName(wanted) : wanted, 'read');
    const found = imageTasks.findImage({ root, emulator, name: fit });
    const path = found === undefined ? undefined : containedPath(root, found);
    return path !== undefined && lstatSync(path).isFile() ? path : undefined;
  } catch (error) {
    if (error instanceof Refusal || (error instanceof Error && 'code' in error)) return undefined;
    throw error;
  }
}

/** A hard link, so that the content stays when an upload replaces the image. */
function keepImage(root: string, path: string, keptImages: string, name: string): PlannedPath {
  try {
    linkSync(path, join(keptImages, name));
    return { root: ROOT.work, path: `${IMAGES}/${name}` };
  } catch {
    return { root: ROOT.images, path: relative(realpathSync(root), path) };
  }
}
