/** The name and version of this program, as package.json has them. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const manifest = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')));

export const PRODUCT = { name: 'Wirefarm', version: manifest.version } as const;
