/**
 * The memory of guests on its way between QEMU and a file, over a Unix socket. A thread of its own runs it: a guest stands
 * still meanwhile.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, closeSync, openSync, readFileSync, readSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { writeWhole } from '../../../base/disk/published-file.js';
import { openRegularFile } from '../../../base/disk/regular-file.js';
import { Growth } from '../../../base/disk/disk-floor.js';
import type { TaskTable } from '../../../base/threads/task.js';

export interface MemoryTasks extends TaskTable {
  /** The bytes of the host's memory that a process has. */
  readonly residentBytes: (input: { pid: number }) => number;
  /** Listens at the socket, and writes what QEMU sends into a new file. Rejects what is longer than the limit. */
  readonly receiveMemory: (input: { socket: string; path: string; limit: number }) => Promise<{
    digest: string;
    size: number;
  }>;
  /** Reads the file, and sends it to QEMU, which listens at the socket, if it has this digest. */
  readonly sendMemory: (input: { socket: string; path: string; digest: string }) => Promise<void>;
}

const PAGE = 4096;
/** The guest may run as another user; the folder around the socket is open to it and the server only. */
const FOR_THE_GUEST = 0o666;
const FOR_THE_SERVER = 0o600;
/** QEMU that sends nothing for so long has failed. */
const SILENCE_MS = 30_000;
const PIECE = 1024 * 1024;

export const memoryTasks: MemoryTasks = {
  residentBytes({ pid }) {
    const [, pages = '0'] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ');
    return Number(pages) * PAGE;
  },

  async receiveMemory({ socket, path, limit }) {
    const fd = openSync(path, 'wx', FOR_THE_SERVER);
    try {
      return await received(await connectionAt(socket), fd, path, limit);
    } finally {
      closeSync(fd);
      rmSync(socket, { force: true });
    }
  },

  async sendMemory({ socket, path, digest }) {
    const { fd, size } = openRegularFile(path);
    try {
      if (digestOf(fd, size) !== digest) throw new Error('it is not what was saved');
      const client = connect({ path: socket });
      client.setTimeout(SILENCE_MS, () => client.destroy(new Error('QEMU does not read')));
      await once(client, 'connect');
      for (const piece of pieces(fd, size)) if (!client.write(piece)) await once(client, 'drain');
      client.end();
      await once(client, 'close');
    } finally {
      closeSync(fd);
    }
  },
};

/** Resolves with the first connection. The socket has its name when it can be connected to. */
async function connectionAt(path: string): Promise<Socket> {
  const server = createServer({ pauseOnConnect: true });
  const unnamed = `${path}.new`;
  server.listen(unnamed);
  try {
    await once(server, 'listening');
    chmodSync(unnamed, FOR_THE_GUEST);
    renameSync(unnamed, path);
    const [connection] = (await once(server, 'connection', { signal: AbortSignal.timeout(SILENCE_MS) })) as [
      Socket,
    ];
    return connection;
  } finally {
    server.close();
  }
}

async function received(
  connection: Socket,
  fd: number,
  path: string,
  limit: number,
): Promise<{ digest: string; size: number }> {
  const hash = createHash('sha256');
  const growth = new Growth(dirname(path));
  let size = 0;
  connection.setTimeout(SILENCE_MS, () => connection.destroy(new Error('QEMU sends nothing')));
  for await (const bytes of connection as AsyncIterable<Buffer>) {
    if (size + bytes.length > limit) throw new Error('it is longer than the memory of the machine');
    growth.reach(size, size + bytes.length);
    hash.update(bytes);
    writeWhole(fd, bytes, size);
    size += bytes.length;
  }
  return { digest: hash.digest('hex'), size };
}

function digestOf(fd: number, size: number): string {
  const hash = createHash('sha256');
  for (const piece of pieces(fd, size)) hash.update(piece);
  return hash.digest('hex');
}

function* pieces(fd: number, size: number): Generator<Buffer, void, undefined> {
  for (let at = 0; at < size;) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE, size - at));
    const count = readSync(fd, piece, 0, piece.length, at);
    if (count === 0) return;
    yield piece.subarray(0, count);
    at += count;
  }
}
