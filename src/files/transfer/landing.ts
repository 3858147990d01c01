/** Where an upload lands, what it turned out to be, and what is done when it is there. */
import { join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';

/** As HTTP calls them. */
export type DigestName = 'md5' | 'sha' | 'sha-256' | 'sha-512';
/** In lower-case hexadecimal. */
export type Digests = Readonly<Partial<Record<DigestName, string>>>;

/** What clients are shown of an upload. */
export type UploadSubject =
  | { readonly emulator: string; readonly filename: string }
  | { readonly project_id: string; readonly node_id?: string; readonly path: string }
  | { readonly symbol: string };

export interface Content {
  readonly size: number;
  readonly digests: Digests;
}

export interface Twin {
  /** Absolute. */
  readonly path: string;
  readonly version: string;
  /** Of the content that is meant. */
  readonly sha256: string;
}

export interface Landed extends Content {
  /** As OpenedFile has it. */
  readonly version: string;
  /** This very content was there already, and nothing was written. */
  readonly isUnchanged: boolean;
}

/** Runs work when it may. */
export type Turn = <Result>(work: () => Promise<Result>) => Promise<Result>;

export interface Landing {
  /** The folder that is never left, and the file's path below it. */
  readonly root: string;
  readonly path: string;
  /** A folder below the root that the path is of instead, and which no link may lead to. */
  readonly folder?: string | undefined;
  /** Whether folders of the path that are missing are made. */
  readonly makesFolders: boolean;
  /** Where the file lies while it is on its way; made when it is missing. Nothing lands in it. */
  readonly temporary: string;
  readonly mode: number;
  readonly subject: UploadSubject;
  /** A file on this host that had this content when it had this version: its blocks can be shared, if it still has. */
  readonly twinOf?: (content: Content) => Twin | undefined;
  /** Keeps what it lands in from going away by itself while the upload is on its way; returns the release. */
  readonly hold?: () => () => void;
  /** Lets it take its place as soon as nobody needs the folder to stay as it is. */
  readonly turn?: Turn;
  /** The file is there; the client has not been told yet. */
  readonly landed?: (landed: Landed) => void;
}

/** For what may take its place at any time. */
export const atOnce: Turn = (work) => work();

const FILE_MODE = 0o644;

/** A file somewhere in a folder of ours, of which the folder `tmp` is for what is on its way. */
export function folderLanding(
  root: string,
  path: string,
  subject: UploadSubject,
  makesFolders = false,
): Landing {
  return { root, path, makesFolders, temporary: join(root, 'tmp'), mode: FILE_MODE, subject };
}

/** Whether what has come is what was promised. */

/** Refuses (400) content that has another digest than was promised. */
export function checkPromise(promised: Digests, found: Digests): void {
  for (const name of Object.keys(promised) as DigestName[]) {
    if (found[name] !== promised[name]) throw refusals.uploadDiffers(name);
  }
}
