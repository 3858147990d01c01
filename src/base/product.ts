/** The name and version of this program, as package.json has them. */
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

export const PRODUCT = { name: 'Wirefarm', version: manifest.version } as const;
