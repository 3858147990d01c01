/** Folders of the server beside the projects. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from './folder-content.js';

/** Everything in the server's folder beside the projects. */
export function asideNames(data: string): string[] {
  return ['deleted', 'making', 'incoming'].flatMap((kind) =>
    namesIn(join(data, 'projects', '.wirefarm', kind)).map((name) => `${kind}/${name}`),
  );
}

/** The folders that are called like projects. */
export function projectFolders(data: string): string[] {
  return readdirSync(join(data, 'projects')).filter((name) => name !== '.wirefarm');
}
