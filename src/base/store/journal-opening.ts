/**
 * Opens the journal of a state folder, or makes one: an empty one, one from the store of an earlier version, or one
 * from the intact part of a damaged journal, which is put aside. Older files are never written to.
 */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { pack } from 'msgpackr';
import { syncFolder } from '../disk/published-file.js';
import { JournalFile } from './journal-file.js';
import {
  entriesOf,
  FORMAT,
  isValue,
  otherFormat,
  type JournalHead,
  type Place,
  type RawChange,
} from './journal-format.js';
import {
  readFrames,
  readHead,
  JournalWindow,
  type JournalFinding,
  type FoundFrame,
} from './journal-reading.js';
import { readLmdb } from './lmdb-reading.js';
import { RecordIndex } from './record-index.js';
import type { Key, StoredRecord } from './store.js';

/** A message about the store for the operator. */
export interface Notice {
  readonly level: 'warn' | 'error';
  readonly text: string;
}

interface Journal {
  readonly file: JournalFile;
  readonly index: RecordIndex;
}

/** The intact part of a journal that was read. */
interface Reading {
  readonly fd: number;
  readonly head: JournalHead;
  readonly found: JournalFinding;
  readonly index: RecordIndex;
}

type Groups = Iterable<readonly RawChange[]>;

const JOURNAL = 'journal';
const PREVIOUS = 'journal.previous';
const MAKING = 'journal.making';
const LMDB = ['data.mdb', 'lock.mdb'];
const LMDB_FORMAT = 1;
const GROUP_BYTES = 512 * 1024;
const READ_AHEAD = 1024 * 1024;
const OPEN = constants.O_RDWR | constants.O_NOFOLLOW;
const NOT_IN_FILES = 'templates, computes, directed filters and what else no topology file tells';

/** Throws one sentence that says why the server cannot start on this folder. */
export function openJournal(folder: string, notices: Notice[]): Journal {
  try {
    return openOrMake(folder, notices);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new Error(`The store in ${folder} cannot be opened: ${error.message}`, { cause: error });
  }
}

function openOrMake(folder: string, notices: Notice[]): Journal {
  makePrivate(folder);
  rmSync(join(folder, MAKING), { force: true });
  const journal = existsSync(join(folder, JOURNAL))
    ? readOrRecover(folder, notices)
    : firstJournal(folder, notices);
  if (existsSync(join(folder, 'data.mdb'))) {
    const copy = putIn(folder, `before-${FORMAT}`, LMDB, renameSync);
    notices.push({ level: 'warn', text: `the store of an earlier version is kept as ${copy}` });
  }
  return journal;
}

/** Replaces the journal by one with the groups as its base. The old journal stays as a second copy of the base. */
export function replaceJournal(folder: string, base: number, groups: Groups): Journal {
  const made = makeJournal(folder, base, groups);
  try {
    keepPrevious(folder);
    renameSync(join(folder, MAKING), join(folder, JOURNAL));
  } catch (error) {
    made.file.abandon();
    rmSync(join(folder, MAKING), { force: true });
    throw error;
  }
  return made;
}

/** Removes the second copy, for its room. */
export function removePrevious(folder: string): void {
  rmSync(join(folder, PREVIOUS), { force: true });
}

/** All records, as the base of another journal: in the order in which they lie in this one, so that it is read once. */
export function* groupsOf(index: RecordIndex, window: JournalWindow): Generator<RawChange[]> {
  let group: RawChange[] = [];
  let bytes = 0;
  for (const { key, place } of index.all().sort((a, b) => a.place.position - b.place.position)) {
    const value = Buffer.from(valueAt(window, key, place));
    group.push({ kind: 'put', key, value });
    bytes += value.length;
    if (bytes < GROUP_BYTES) continue;
    yield group;
    group = [];
    bytes = 0;
  }
  yield group;
}

/** Reads a value. Throws when it is not the one that was written. */
export function valueAt(window: JournalWindow, key: Key, place: Place): Buffer {
  const bytes = window.at(place.position, place.length);
  if (bytes !== undefined && isValue(bytes, place)) return bytes;
  throw new Error(
    `The record ${key.join('/')} of the store is damaged on the disk: ` +
      'the next start of the server puts the store aside and keeps what is whole of it',
  );
}

function applyFrame(index: RecordIndex, { bytes, position }: FoundFrame): void {
  for (const entry of entriesOf(bytes, position)) index.apply(entry);
}

function makeJournal(folder: string, base: number, groups: Groups): Journal {
  const index = new RecordIndex();
  const path = join(folder, MAKING);
  try {
    const file = JournalFile.create(path, base, groups, (frame) => {
      applyFrame(index, frame);
    });
    return { file, index };
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

/** Keeps the journal as a second copy, by a second name. A file system without second names has no second copy. */
function keepPrevious(folder: string): void {
  removePrevious(folder);
  try {
    linkSync(join(folder, JOURNAL), join(folder, PREVIOUS));
  } catch {
    // The new journal has all records.
  }
}

function firstJournal(folder: string, notices: Notice[]): Journal {
  if (existsSync(join(folder, PREVIOUS)))
    return recover(folder, undefined, `the file ${JOURNAL} is gone`, notices);
  const records = existsSync(join(folder, 'data.mdb')) ? lmdbRecords(folder, notices) : [];
  const changes = records.map(({ key, value }): RawChange => ({ kind: 'put', key, value: pack(value) }));
  const made = makeJournal(folder, 0, inGroups(changes));
  renameSync(join(folder, MAKING), join(folder, JOURNAL));
  syncFolder(folder);
  return made;
}

function* inGroups(changes: readonly RawChange[]): Generator<readonly RawChange[]> {
  for (let from = 0; from < changes.length; from += 256) yield changes.slice(from, from + 256);
}

function lmdbRecords(folder: string, notices: Notice[]): StoredRecord[] {
  let records: StoredRecord[];
  try {
    records = readLmdb(join(folder, 'data.mdb'));
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    notices.push({
      level: 'error',
      text: whatIsLost(`the store of an earlier version is damaged: ${reason}`),
    });
    return [];
  }
  const format = records.find(({ key }) => key.length === 1 && key[0] === 'format')?.value;
  if (records.length > 0 && format !== LMDB_FORMAT) throw otherFormat(format);
  return records.filter(({ key }) => key.length > 1);
}

function readOrRecover(folder: string, notices: Notice[]): Journal {
  const path = join(folder, JOURNAL);
  const reading = read(path);
  if (reading === undefined) return recover(folder, undefined, 'it does not begin like a journal', notices);
  const { fd, head, found, index } = reading;
  if (found.damage !== undefined) return recover(folder, reading, found.damage, notices);
  if (found.isTorn) {
    const text = `a commit that was under way when the server ended was taken off the store, at byte ${found.end}`;
    notices.push({ level: 'warn', text });
  }
  return { file: JournalFile.resume(path, fd, head, found), index };
}

/** Undefined when the journal has no whole head. */
function read(path: string): Reading | undefined {
  const fd = openSync(path, OPEN);
  try {
    const head = readHead(fd);
    if (head !== undefined) {
      const index = new RecordIndex();
      const found = readFrames(fd, head, (frame) => {
        applyFrame(index, frame);
      });
      return { fd, head, found, index };
    }
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  closeSync(fd);
  return undefined;
}

/** Puts the damaged journal aside, and makes one of the latest state that is provably whole. */
function recover(folder: string, reading: Reading | undefined, damage: string, notices: Notice[]): Journal {
  const previousPath = join(folder, PREVIOUS);
  const previous = existsSync(previousPath) ? read(previousPath) : undefined;
  try {
    const made = makeJournal(folder, ...latestWhole(reading, previous));
    const copy = putAside(folder, 'damaged', [JOURNAL, PREVIOUS], keepCopy);
    renameSync(join(folder, MAKING), join(folder, JOURNAL));
    removePrevious(folder);
    syncFolder(folder);
    notices.push({
      level: 'error',
      text: whatWasKept(made, `the store was damaged (${damage}) and lies as it was in ${copy}`),
    });
    return made;
  } finally {
    for (const used of [reading, previous]) if (used !== undefined) closeSync(used.fd);
  }
}

function whatWasKept({ file, index }: Journal, told: string): string {
  if (index.bytes === 0) return whatIsLost(told);
  return (
    `${told}: it is as it was after its first ${file.number} commits; what changed after them is taken from the ` +
    `topology files of the projects, but not ${NOT_IN_FILES}`
  );
}

/** The latest whole state: the number of its last commit, and its content. */
function latestWhole(reading: Reading | undefined, previous: Reading | undefined): [number, Groups] {
  if (reading !== undefined && reading.found.end >= reading.head.baseEnd) {
    return [reading.found.number, stateOf(reading)];
  }
  if (previous === undefined || previous.found.end < previous.head.baseEnd) return [0, []];
  const { damage, number } = previous.found;
  const isBase = damage === undefined && number === reading?.head.base;
  if (!isBase) return [number, stateOf(previous)];
  const later: RawChange[][] = [];
  const { number: last } = readFrames(
    reading.fd,
    reading.head,
    (frame) => later.push(changesOf(frame)),
    false,
  );
  return [last, [...stateOf(previous), ...later]];
}

function stateOf({ fd, index }: Reading): Groups {
  return groupsOf(index, new JournalWindow(fd, READ_AHEAD));
}

function changesOf({ bytes, position }: FoundFrame): RawChange[] {
  const own = Buffer.from(bytes);
  return [...entriesOf(own, position)].map(({ kind, key, place }) => {
    const start = place.position - position;
    return { kind, key, value: own.subarray(start, start + place.length) };
  });
}

function whatIsLost(told: string): string {
  return `${told}: projects are rebuilt from their topology files, but ${NOT_IN_FILES} are lost`;
}

/** Puts files into a new folder of the state folder, which is named after the time. Returns its path. */
function putAside(
  folder: string,
  kind: string,
  names: readonly string[],
  put: (from: string, to: string) => void,
): string {
  const time = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  return putIn(folder, `${kind}-${time}`, names, put);
}

/** Puts files into a new folder of the state folder. Returns its path; a number is added to a name that is taken. */
function putIn(
  folder: string,
  name: string,
  names: readonly string[],
  put: (from: string, to: string) => void,
): string {
  let aside = join(folder, name);
  for (let count = 2; existsSync(aside); count++) aside = join(folder, `${name}-${count}`);
  mkdirSync(aside, { mode: 0o700 });
  for (const file of names) {
    if (!existsSync(join(folder, file))) continue;
    put(join(folder, file), join(aside, file));
    chmodSync(join(aside, file), 0o600);
  }
  syncFolder(aside);
  syncFolder(folder);
  return aside;
}

function keepCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Other users may not read the folder, because records contain passwords of computes. */
function makePrivate(folder: string): void {
  try {
    chmodSync(folder, 0o700);
  } catch {
    // The folder belongs to another user, who decides who may read it.
  }
}
