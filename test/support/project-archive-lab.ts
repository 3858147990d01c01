/** Archives of projects, made and read for tests, and how they go to a server and come from it. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, Reply } from './client.js';
import { gns3Text, type Gns3Content } from './gns3-project.js';
import { readArchiveFile, type ZipContent } from './zip-reading.js';
import { scratchFolder, type Teardown } from './scratch.js';
import { zipArchive, type MadeMember } from './zip-archives.js';

export type Members = Readonly<Record<string, string | Uint8Array>>;

/** As GNS3 lays one out; deflated. */
export function projectArchive(
  project: { readonly id?: string; readonly name?: string; readonly content?: Gns3Content },
  files: Members = {},
  others: readonly MadeMember[] = [],
): Buffer {
  const { id = randomUUID(), name = 'archived', content = {} } = project;
  const text = gns3Text(id, name, content);
  const made = Object.entries({ 'project.gns3': text, ...files }).map(([path, value]): MadeMember => {
    return path.endsWith('/') ? { name: path } : { name: path, content: value, method: 8 };
  });
  return zipArchive([...made, ...others]);
}

/** As a browser sends a form with one file. */
export function asForm(archive: Uint8Array): { body: Buffer; headers: Record<string, string> } {
  const boundary = '----WebKitFormBoundaryAbCdEf0123456789';
  const head =
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.gns3project"\r\n` +
    'Content-Type: application/octet-stream\r\n\r\n';
  return {
    body: Buffer.concat([Buffer.from(head), archive, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` },
  };
}

export function importPath(id: string, query: Readonly<Record<string, string>> = {}): string {
  return `/v2/projects/${id}/import?${new URLSearchParams(query).toString()}`;
}

export function sendArchive(
  client: Client,
  archive: Uint8Array,
  query: Readonly<Record<string, string>> = {},
  id: string = randomUUID(),
): Promise<Reply> {
  return client.request('POST', importPath(id, query), archive);
}

/** Fetches an archive and reads all of it, as the server would. */
export function archiveFetcher(
  t: Teardown,
  url: string,
): (project: string, query?: string) => Promise<ZipContent & { readonly path: string }> {
  const folder = scratchFolder(t);
  let count = 0;
  return async (project, query = '') => {
    const response = await fetch(`${url}${project}/export?${query}`);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    const bytes = Buffer.from(await response.arrayBuffer());
    const path = join(folder, String(count++));
    writeFileSync(path, bytes);
    return { path, ...(await readArchiveFile(path, bytes.length)) };
  };
}
