/** Images of a server, sent and fetched, and what is left of them on its disk. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { headerOf, RawConnection, type RawReply } from './raw-client.js';
import type { ServerProcess } from './server-process.js';

export const IMAGES = '/v2/compute/qemu/images';

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
export const base64 = (name: string, bytes: Uint8Array): string =>
  createHash(name).update(bytes).digest('base64');

export async function putImage(
  server: ServerProcess,
  name: string,
  bytes: Uint8Array,
  headers: Record<string, string> = {},
): Promise<RawReply> {
  const connection = await RawConnection.open(server.port);
  connection.send('POST', `${IMAGES}/${name}`, { headers, body: bytes });
  const reply = await connection.reply('POST', 60_000);
  connection.close();
  return reply;
}

export async function getImage(
  server: ServerProcess,
  name: string,
  headers: Record<string, string> = {},
): Promise<RawReply> {
  const connection = await RawConnection.open(server.port);
  connection.send('GET', `${IMAGES}/${name}`, { headers });
  const reply = await connection.reply('GET', 60_000);
  connection.close();
  return reply;
}

export const tagOf = (reply: RawReply): string => headerOf(reply, 'ETag') ?? '';

/** Unfinished files in the images folder, however deep. */
export function unfinishedImages(images: string): string[] {
  const folder = join(images, 'tmp');
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
}

/** Waits until nothing lies unfinished. A file with the MD5 digest of an image is written after the answer. */
export async function nothingUnfinished(images: string): Promise<void> {
  await eventually('nothing is unfinished', () => (unfinishedImages(images).length === 0 ? true : undefined));
}

/** A number that the system tells of the process, in octets. */
export function memoryOf({ child }: ServerProcess, name: 'VmRSS' | 'RssAnon'): number {
  const status = readFileSync(`/proc/${child.pid ?? 0}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) * 1024;
}

/** How many octets the process has given to its disks. */
export function writtenBy({ child }: ServerProcess): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${child.pid ?? 0}/io`, 'utf8'))?.[1]);
}
