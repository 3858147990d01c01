/** Everything that writes files for clients, and what must be so of it after any fault. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Reply } from './client.js';
import { FAULT_MODES } from './fault-plan.js';
import type { Series } from './fault-series.js';
import type { Outcome } from './fault-server.js';
import { folderContent, namesIn } from './folder-content.js';
import { parseGns3 } from './gns3-schema.js';
import { RandomBytes } from './random.js';
import { tarArchive } from './tar-archive.js';
import { image, TusTalk } from './tus.js';
import { contentAt, type WriterLab } from './writer-lab.js';

const REFUSALS = [409, 500, 503, 507];
const modes = FAULT_MODES;

interface FileWriting {
  /** Below the data folder. */
  readonly path: string;
  readonly send: (bytes: Uint8Array) => Promise<Reply>;
  readonly size: number;
  /** The folder of the file is made by it. */
  readonly isInNewFolder?: boolean;
}

/** A file goes from one content to another, and is entirely one of them at any time. */
function fileWriting(lab: WriterLab, { path, send, size, isInNewFolder = false }: FileWriting): Series {
  const bytes = new RandomBytes(size);
  const place = join(lab.data, path);
  let before: Buffer | undefined;
  let wanted = bytes.next(size);
  return {
    modes,
    prepare: () => {
      if (isInNewFolder) rmSync(dirname(place), { recursive: true, force: true });
      before = contentAt(place);
      wanted = bytes.next(size);
      return Promise.resolve();
    },
    act: () => send(wanted),
    check: async (outcome) => {
      const problems = answerProblems(outcome);
      const found = contentAt(place);
      const isNew = found?.equals(wanted) === true;
      const isOld = before === undefined ? found === undefined : found?.equals(before) === true;
      if (!isNew && !isOld) problems.push(`${path} is neither what it was nor what was sent`);
      if (isDone(outcome) && !isNew) problems.push(`${path} is not what was acknowledged`);
      if (isRefused(outcome) && !isOld) problems.push(`${path} was refused, and has changed`);
      problems.push(...(await lab.left(outcome)));
      problems.push(...(await refusal(() => send(wanted))));
      if (contentAt(place)?.equals(wanted) !== true)
        problems.push(`${path}: the next attempt did not write it`);
      return problems;
    },
  };
}

/** By their names, every writer of a single file. */
function fileWriters(lab: WriterLab): Readonly<Record<string, Series>> {
  const node = (name: string): string => relative(lab.data, join(lab.nodeFolder, name));
  const post =
    (path: string) =>
    (bytes: Uint8Array): Promise<Reply> =>
      lab.client.request('POST', path, bytes);
  const qemu = '/v2/computes/local/qemu/images';
  return {
    'a small image': fileWriting(lab, {
      path: 'images/QEMU/small.img',
      send: post(`${qemu}/small.img`),
      size: 5000,
    }),
    'an image': fileWriting(lab, { path: 'images/QEMU/a.img', send: post(`${qemu}/a.img`), size: 200_001 }),
    'a large image': fileWriting(lab, {
      path: 'images/QEMU/large.img',
      send: post(`${qemu}/large.img`),
      size: 3_000_001,
    }),
    'a small file of a node': fileWriting(lab, {
      path: node('startup.cfg'),
      send: post(`${lab.nodeBase}/files/startup.cfg`),
      size: 5,
    }),
    'a file of a node in new folders': fileWriting(lab, {
      path: node('new/folder/disk'),
      send: post(`${lab.nodeBase}/files/new/folder/disk`),
      size: 100_000,
      isInNewFolder: true,
    }),
    'a file of a project': fileWriting(lab, {
      path: relative(lab.data, join(lab.folder, 'notes.txt')),
      send: post(`${lab.base}/files/notes.txt`),
      size: 70_000,
    }),
    'a symbol': fileWriting(lab, {
      path: 'symbols/own.svg',
      send: post('/v2/symbols/own.svg/raw'),
      size: 900,
    }),
  };
}

/** An archive is unpacked as a whole, or not at all: it replaces, joins, and makes folders. */
function archiveUnpacking(lab: WriterLab): Series {
  const contentOf = (): string => JSON.stringify(folderContent(lab.nodeFolder, []));
  const archive = tarArchive([
    ['replaced', 'new'],
    ['joined/new', 'new'],
    ['made/deep/er', 'new'],
    ['void/', ''],
  ]);
  const send = (): Promise<Reply> => lab.client.request('POST', `${lab.nodeBase}/files.tar`, archive);
  const reset = (): void => {
    rmSync(lab.nodeFolder, { recursive: true, force: true });
    mkdirSync(join(lab.nodeFolder, 'joined'), { recursive: true });
    writeFileSync(join(lab.nodeFolder, 'replaced'), 'old');
    writeFileSync(join(lab.nodeFolder, 'joined', 'kept'), 'old');
  };
  let before = '';
  let after = '';
  return {
    modes,
    prepare: async () => {
      reset();
      if (after === '') {
        await send();
        after = contentOf();
        reset();
      }
      before = contentOf();
    },
    act: send,
    check: async (outcome) => {
      const problems = [...answerProblems(outcome), ...(await lab.left(outcome))];
      const found = contentOf();
      if (found !== before && found !== after) problems.push(`a part of it is there: ${found}`);
      if (isDone(outcome) && found !== after) problems.push('it is not there');
      if (isRefused(outcome) && found !== before) problems.push('it was refused, and something has changed');
      problems.push(...(await refusal(send)));
      if (contentOf() !== after) problems.push('the next attempt did not unpack it');
      return problems;
    },
  };
}

/** An upload that comes in parts keeps what was acknowledged of it, and lands whole. */
function resumableUploading(lab: WriterLab): Series {
  const place = join(lab.data, 'images/QEMU/tus.img');
  const bytes = new RandomBytes(77);
  const HALF = 40_000;
  let content = bytes.next(2 * HALF);
  let upload = '';
  let acknowledged = 0;
  const talk = (): TusTalk => new TusTalk(lab.client);
  const finish = async (): Promise<Reply> => {
    const at = await talk().offset(upload);
    return talk().patch(upload, at, content.subarray(at));
  };
  return {
    modes,
    prepare: async () => {
      if (upload !== '') await talk().delete(upload);
      rmSync(place, { force: true });
      upload = '';
      acknowledged = 0;
      content = bytes.next(2 * HALF);
    },
    act: async () => {
      const created = await talk().begin(content.length, image('tus.img'));
      if (created.status !== 201) return created;
      upload = created.headers.get('location') ?? '';
      const first = await talk().patch(upload, 0, content.subarray(0, HALF));
      if (first.status !== 204) return first;
      acknowledged = HALF;
      const last = await talk().patch(upload, HALF, content.subarray(HALF));
      if (last.status === 204) acknowledged = content.length;
      return last;
    },
    check: async (outcome) => {
      const problems = [...answerProblems(outcome), ...(await lab.left(outcome))];
      if (isDone(outcome) && contentAt(place)?.equals(content) !== true)
        problems.push('it has not landed whole');
      const found = contentAt(place);
      if (found !== undefined && !found.equals(content)) problems.push('something else has landed');
      if (upload === '') return problems;
      const offset = await talk().offset(upload);
      if (!(offset >= acknowledged)) problems.push(`of ${acknowledged} octets ${offset} are there`);
      const reply = await finish();
      if (reply.status !== 204) problems.push(`it cannot be finished: ${reply.text}`);
      if (contentAt(place)?.equals(content) !== true) problems.push('it was not finished whole');
      return problems;
    },
  };
}

/** A project is made whole, or not at all. */
function projectCreation(lab: WriterLab): Series {
  let id = '';
  const create = (): Promise<Reply> =>
    lab.client.request('POST', '/v2/projects', { name: 'made', project_id: id, auto_close: false });
  return {
    modes,
    prepare: async () => {
      await removeProject(lab, id);
      id = randomUUID();
    },
    act: create,
    check: async (outcome) => {
      const problems = [...answerProblems(outcome), ...(await lab.left(outcome))];
      const isListed = (await lab.listed()).has('made');
      if (isDone(outcome) && !isListed) problems.push('it is not listed');
      if (isRefused(outcome) && isListed) problems.push('it was refused, and is listed');
      const folder = join(lab.data, 'projects', id);
      if (!isListed && namesIn(folder).length > 0) problems.push('files of it are left');
      problems.push(...(await refusal(create)));
      problems.push(...(await refusal(() => lab.client.post(`/v2/projects/${id}/open`))));
      parseGns3(readFileSync(join(folder, 'made.gns3'), 'utf8'));
      return problems;
    },
  };
}

/** A project goes with its folder, or stays with it. */
function projectDeletion(lab: WriterLab): Series {
  let id = '';
  const remove = (): Promise<Reply> => lab.client.delete(`/v2/projects/${id}`);
  const file = (): string => join(lab.data, 'projects', id, 'notes.txt');
  return {
    modes,
    prepare: async () => {
      await removeProject(lab, id);
      id = randomUUID();
      await lab.client.expect(201, 'POST', '/v2/projects', {
        name: 'goes',
        project_id: id,
        auto_close: false,
      });
      await lab.client.request('POST', `/v2/projects/${id}/files/notes.txt`, 'kept');
    },
    act: remove,
    check: async (outcome) => {
      const problems = answerProblems(outcome);
      if (outcome.reply === undefined || isDone(outcome)) problems.push(...(await lab.left(outcome)));
      const isListed = (await lab.listed()).has('goes');
      if (isDone(outcome) && isListed) problems.push('it is still listed');
      if (isRefused(outcome) && !isListed) problems.push('it was refused, and is not listed');
      if (isListed !== existsSync(file()))
        problems.push(`listed: ${isListed}, its file: ${existsSync(file())}`);
      if (isListed) problems.push(...(await refusal(remove)));
      problems.push(...(await lab.left(outcome)));
      return problems;
    },
  };
}

/** Acknowledged changes of a topology are in its file when the project is closed. */
function topologyWriting(lab: WriterLab): Series {
  const path = join(lab.folder, 'lab.gns3');
  let x = 0;
  let isStored = false;
  const inFile = (): unknown =>
    parseGns3(readFileSync(path, 'utf8')).topology.nodes.find(({ name }) => name === 'Hub1')?.['x'];
  const change = async (): Promise<Reply> => {
    const stored = await lab.client.put(lab.hubBase, { x });
    if (stored.status !== 200) return stored;
    isStored = true;
    return lab.client.post(`${lab.base}/close`);
  };
  return {
    modes,
    prepare: async () => {
      await lab.open();
      x++;
      isStored = false;
    },
    act: change,
    check: async (outcome) => {
      const problems = answerProblems(outcome);
      inFile();
      await lab.open();
      problems.push(...(await lab.left(outcome)));
      const { x: now } = await lab.client.expect(200, 'GET', lab.hubBase);
      if (isStored && now !== x) problems.push(`the node is at ${String(now)} instead of ${x}`);
      if (isRefused(outcome) && !isStored && now === x) problems.push('it was refused, and has changed');
      problems.push(...(await refusal(change)));
      if (inFile() !== x) problems.push('the file says something else');
      await lab.open();
      return problems;
    },
  };
}

/** A capture that was begun has a file, and whatever files there are can be read. */
function capturing(lab: WriterLab): Series {
  const folder = join(lab.folder, 'project-files', 'captures');
  const PCAP = [0xa1b2c3d4, 0xa1b23c4d];
  let isStarted = false;
  const start = (): Promise<Reply> =>
    lab.client.post(`${lab.linkBase}/start_capture`, {
      capture_file_name: 'kept.pcap',
      data_link_type: 'DLT_EN10MB',
    });
  const stop = (): Promise<Reply> => lab.client.post(`${lab.linkBase}/stop_capture`);
  return {
    modes,
    prepare: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
      isStarted = false;
    },
    act: async () => {
      const started = await start();
      if (started.status !== 201) return started;
      isStarted = true;
      return stop();
    },
    check: async (outcome) => {
      const problems = [...answerProblems(outcome), ...(await lab.left(outcome))];
      const names = namesIn(folder);
      if (isStarted && names.length === 0) problems.push('there is no file of it');
      for (const name of names) {
        const head = readFileSync(join(folder, name));
        if (head.length < 24 || !PCAP.includes(head.readUInt32LE(0))) problems.push(`${name} is no capture`);
      }
      await stop();
      problems.push(...(await refusal(start)), ...(await refusal(stop)));
      return problems;
    },
  };
}

/** All writers, by their names. */
export function writers(lab: WriterLab): Readonly<Record<string, Series>> {
  return {
    ...fileWriters(lab),
    'an archive into a folder': archiveUnpacking(lab),
    'an upload in parts': resumableUploading(lab),
    'the making of a project': projectCreation(lab),
    'the removal of a project': projectDeletion(lab),
    'the file of a topology': topologyWriting(lab),
    'a capture': capturing(lab),
  };
}

async function removeProject(lab: WriterLab, id: string): Promise<void> {
  if (id !== '') await lab.client.delete(`/v2/projects/${id}`);
}

function isDone({ reply }: Outcome): boolean {
  return reply !== undefined && reply.status < 300;
}

function isRefused({ reply }: Outcome): boolean {
  return reply !== undefined && reply.status >= 300;
}

function answerProblems({ reply }: Outcome): string[] {
  if (reply === undefined || reply.status < 300 || REFUSALS.includes(reply.status)) return [];
  return [`the answer ${reply.status}: ${reply.text}`];
}

/** Returns the answer as a problem when it is no success. */
async function refusal(act: () => Promise<Reply>): Promise<string[]> {
  const { status, text } = await act();
  return status < 300 ? [] : [`the next attempt: ${status} ${text}`];
}
