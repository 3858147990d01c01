/**
 * Builds the console: the pages that browsers get. Names of files have the digests of their contents, so that browsers may
 * keep them for ever; beside each lie its forms in brotli and gzip, since nothing is compressed while somebody waits.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCE = join(ROOT, 'src/console');
/** Each is a document at the root of the server, with its script and its style. */
const DOCUMENTS = [
  { name: 'index.html', script: 'main.tsx', style: 'styles/app.css' },
  { name: 'terminal.html', script: 'terminal/terminal.tsx', style: 'styles/terminal.css' },
  { name: 'docs.html', script: 'docs/docs.ts', style: 'styles/docs.css' },
];
/** Scripts of workers, by the words in the documents that stand for their places. */
const WORKERS = { PACKET_WORKER: 'packets/packet-worker.ts' };
const ICON = 'icon.svg';
/** Packages that the files contain. */
const CONTAINED = [
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  'tus-js-client',
  '@xterm/xterm',
  '@xterm/addon-fit',
  '@xterm/addon-search',
  'swagger-ui-dist',
];
/** The last two steps take ten times as long, and save a fiftieth. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

const inBrotli = promisify(brotliCompress);
const inGzip = promisify(gzip);

export async function buildConsole(outdir) {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [
      ...DOCUMENTS.flatMap(({ script, style }) => [script, style]),
      ...Object.values(WORKERS),
      ICON,
    ].map((file) => join(SOURCE, file)),
    outdir,
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'copy' },
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const builtOf = new Map(
    Object.entries(metafile.outputs).map(([path, { entryPoint }]) => [entryPoint, basename(path)]),
  );
  const files = outputFiles.map(({ path, contents }) => [basename(path), contents]);
  const placeOf = (file) => `console/${builtOf.get(`src/console/${file}`)}`;
  for (const { name, script, style } of DOCUMENTS) {
    let page = readFileSync(join(SOURCE, name), 'utf8')
      .replace('SCRIPT', placeOf(script))
      .replace('STYLE', placeOf(style))
      .replace('ICON', placeOf(ICON));
    for (const [word, file] of Object.entries(WORKERS)) page = page.replace(word, placeOf(file));
    files.push([name, Buffer.from(page)]);
  }
  files.push(['licenses.txt', Buffer.from(await licenses())]);
  mkdirSync(outdir, { recursive: true });
  await Promise.all(files.map(([name, bytes]) => writeForms(join(outdir, name), bytes)));
}

async function writeForms(path, bytes) {
  writeFileSync(path, bytes);
  const write = async (suffix, packed) => writeFile(`${path}.${suffix}`, await packed);
  await Promise.all([write('br', inBrotli(bytes, BROTLI)), write('gz', inGzip(bytes, { level: 9 }))]);
}

async function licenses() {
  const texts = await Promise.all(
    CONTAINED.map(async (name) => {
      const text = await readFile(join(ROOT, 'node_modules', name, 'LICENSE'), 'utf8').catch(() => 'MIT\n');
      return `${name}\n\n${text}`;
    }),
  );
  return texts.join('\n');
}
