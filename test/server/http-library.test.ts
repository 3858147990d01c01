/** A server does not load a binary of its HTTP library that this version was not made with. */
import { appendFileSync, cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { libraryProblem } from '../../src/server/http-library.js';
import { scratchFolder } from '../support/scratch.js';

const INSTALLED = new URL('bin/', import.meta.resolve('uWebSockets.js'));

void t.test('the installed binary is the one', (t) => {
  t.equal(libraryProblem(), undefined);
  t.end();
});

void t.test('a changed binary is named, with the way back', (t) => {
  const folder = scratchFolder(t);
  cpSync(INSTALLED, folder, { recursive: true });
  const [binary = ''] = readdirSync(folder).filter((name) =>
    name.includes(`${process.platform}_${process.arch}_${process.versions.modules}`),
  );
  appendFileSync(join(folder, binary), 'x');
  t.match(libraryProblem(pathToFileURL(`${folder}/`)), new RegExp(`${binary} is not the file .* npm ci$`));
  t.end();
});
