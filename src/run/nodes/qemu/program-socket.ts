/**
 * Connections to Unix sockets in the folder of a machine. Its program can write there, and a hostile one could put a link
 * in the place of its socket, to one of the host that only the server may use: no link is followed.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ComputeFiles } from '../../files.js';

/** Rejects when there is no socket at the path, or nothing listens at it. */
export async function connectProgram(files: ComputeFiles, path: string): Promise<Socket> {
  const descriptor = await files.run('holdSocket', { path });
  try {
    const socket = connect({ path: `/proc/self/fd/${descriptor}` });
    await once(socket, 'connect');
    return socket;
  } finally {
    // Nothing may come between the connection and its owner, who hears of its errors.
    files.run('releaseSocket', { descriptor }).catch(() => undefined);
  }
}
