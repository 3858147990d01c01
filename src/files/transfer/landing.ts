/** The target of an upload, its content, and the hooks of the code that owns the target. */
import { join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';

/** The names that HTTP has for them. */
export type DigestName = 'md5' | 'sha' | 'sha-256' | 'sha-512';
/** In lower-case hexadecimal. */
export type Digests = Readonly<Partial<Record<DigestName, string>>>;

/** The target of an upload as clients see it. */
export type UploadSubject =
  | { readonly emulator: string; readonly filename: string }
  | { readonly project_id: string; readonly node_id?: string; readonly path: string }
  | { readonly symbol: string };

export interface Content {
  readonly size: number;
  readonly digests: Digests;
}

/** A file with the same content, whose blocks may be shared. */
export interface Twin {
  /** Absolute. */
  readonly path: string;
  readonly version: string;
  /** The digest that its content must have. */
  readonly sha256: string;
}

export interface Landed extends Content {
  /** The `version` of `OpenedFile`. */
  readonly version: string;
  /** The target had the same content already, and nothing was written. */
  readonly isUnchanged: boolean;
}

/** Runs work when its turn has come. */
type Turn = <Result>(work: () => Promise<Result>) => Promise<Result>;

export interface Landing {
  /** The folder that must not be left, and the path of the file below it. */
  readonly root: string;
  readonly path: string;
  /** A folder below the root that the path begins at instead; no link may lead to it. */
  readonly folder?: string | undefined;
  /** Whether missing folders of the path are made. */
  readonly makesFolders: boolean;
  /** The folder of the unfinished file; made if it is missing. Nothing may land in it. */
  readonly temporary: string;
  readonly mode: number;
  readonly subject: UploadSubject;
  /** Digests besides SHA-256 that the owner has when it lands. */
  readonly digests?: readonly DigestName[];
  /** A file on this host that had this content at this version; its blocks can be shared if it still has it. */
  readonly twinOf?: (content: Content) => Twin | undefined;
  /** Keeps the owner, such as an open project, from closing by itself during the upload; returns the release. */
  readonly hold?: () => () => void;
  /** Refuses (507) bytes that would be too many, before any comes. What is returned is called when they have come or not. */
  readonly takeRoom?: (bytes: number) => Promise<() => void>;
  /** Delays the rename while the folder must stay as it is. */
  readonly turn?: Turn;
  /** Refuses content before it takes the name. */
  readonly check?: (content: Content) => void;
  /** Called when the file has landed, before the client gets its answer. */
  readonly landed?: (landed: Landed) => void;
  /** Waited for after that. A refusal is the answer of the client, although the file stays. */
  readonly settled?: () => Promise<void>;
}

/** For a file that may be renamed at any time. */
export const atOnce: Turn = (work) => work();

const FILE_MODE = 0o644;

/** A landing in a folder of ours, whose folder `tmp` holds unfinished files. */
export function folderLanding(
  root: string,
  path: string,
  subject: UploadSubject,
  makesFolders = false,
): Landing {
  return { root, path, makesFolders, temporary: join(root, 'tmp'), mode: FILE_MODE, subject };
}

/** Refuses (400) content that has another digest than was promised. */
export function checkPromise(promised: Digests, found: Digests): void {
  for (const name of Object.keys(promised) as DigestName[]) {
    if (found[name] !== promised[name]) throw refusals.uploadDiffers(name);
  }
}
