/** The folders and files that a foreign tar archive would become on the disk. It may contain nothing else. */
import type { Header } from 'tar-stream';
import { refusals } from '../errors/errors.js';

/** The header of a member as the library reads it; its own types leave some of that out. */
export interface MemberHeader extends Omit<Header, 'type' | 'pax'> {
  /** Null when the library does not know the type. */
  readonly type: Header['type'] | null;
  /** Where the content begins in the archive. */
  readonly byteOffset: number;
  readonly pax: Readonly<Record<string, string>> | null;
}

export interface MemberFile {
  readonly position: number;
  readonly size: number;
  readonly isExecutable: boolean;
}

const MOST_ENTRIES = 100_000;
const MOST_OF_NAMES = 16 * 1024 * 1024;
const LONGEST_NAME = 4096;
const LONGEST_PART = 255;
const OWNER_EXECUTES = 0o100;

export class TarContent {
  /** Relative paths; parents come before their children. */
  readonly folders = new Set<string>();
  /** The files by their relative paths. */
  readonly files = new Map<string, MemberFile>();
  /** The position in the archive where the last content ends. */
  end = 0;
  #namesLength = 0;

  /**
   * Adds a member; a later file replaces an earlier one. Refuses (409) a member that cannot be unpacked as it is named.
   */
  add(header: MemberHeader): void {
    const { name, type, size, byteOffset } = header;
    const path = memberPath(name);
    if (type === 'directory') {
      this.#addFolder(name, path);
      this.end = byteOffset;
    } else {
      checkFile(header, path);
      if (this.folders.has(path)) throw refusals.archiveMemberRefused(name, 'it is a folder as well');
      this.#addFolder(name, parentOf(path));
      const isExecutable = (header.mode & OWNER_EXECUTES) !== 0;
      if (!this.files.has(path)) this.#count(path);
      this.files.set(path, { position: byteOffset, size, isExecutable });
      this.end = byteOffset + size;
    }
  }

  #addFolder(name: string, path: string): void {
    const missing: string[] = [];
    for (let folder = path; folder !== '' && !this.folders.has(folder); folder = parentOf(folder)) {
      if (this.files.has(folder)) throw refusals.archiveMemberRefused(name, `${folder} is a file as well`);
      this.#count(folder);
      missing.push(folder);
    }
    for (const folder of missing.reverse()) this.folders.add(folder);
  }

  #count(path: string): void {
    this.#namesLength += path.length;
    if (this.#namesLength > MOST_OF_NAMES)
      throw refusals.tooMany('characters in the names of this archive', MOST_OF_NAMES);
    if (this.folders.size + this.files.size >= MOST_ENTRIES)
      throw refusals.tooMany('files and folders in this archive', MOST_ENTRIES);
  }
}

/** The name without a trailing slash and without empty parts and dots; empty for the target folder itself. */
function memberPath(name: string): string {
  const reason = unfitName(name);
  if (reason !== undefined) throw refusals.archiveMemberRefused(name, reason);
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw refusals.archiveMemberRefused(name, 'its name leads out of its folder');
  if (parts.some((part) => Buffer.byteLength(part) > LONGEST_PART))
    throw refusals.archiveMemberRefused(name, 'its name is too long');
  return parts.join('/');
}

function unfitName(name: string): string | undefined {
  if (name === '') return 'it has no name';
  if (name.startsWith('/')) return 'its name is absolute';
  if (Buffer.byteLength(name) > LONGEST_NAME) return 'its name is too long';
  if (/[\0\ufffd]/.test(name)) return 'its name is no UTF-8 text';
  return undefined;
}

function checkFile({ name, type, pax }: MemberHeader, path: string): void {
  if (type !== 'file' && type !== 'contiguous-file')
    throw refusals.archiveMemberRefused(name, `only files and folders are unpacked, it is ${kindOf(type)}`);
  if (Object.keys(pax ?? {}).some((key) => key.startsWith('GNU.sparse.')))
    throw refusals.archiveMemberRefused(name, 'sparse files are not unpacked');
  if (path === '') throw refusals.archiveMemberRefused(name, 'a file needs a name');
}

function kindOf(type: MemberHeader['type']): string {
  if (type === 'link') return 'a hard link';
  if (type === 'symlink') return 'a symbolic link';
  return type === null ? 'something else' : `a ${type.replace('-', ' ')}`;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
