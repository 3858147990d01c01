/** The rules of the house, enforced by reading the source. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Import {
  readonly target: string;
  readonly isTypeOnly: boolean;
}

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  readonly tree: ts.SourceFile;
  readonly imports: readonly Import[];
}

function readFiles(folder: string): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readSource(relative(ROOT, join(entry.parentPath, entry.name))))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  return { path, text, lines: text.split('\n').length - 1, tree, imports: importsOf(path, tree) };
}

function importsOf(path: string, tree: ts.SourceFile): Import[] {
  const found: Import[] = [];
  const note = (name: ts.Node | undefined, isTypeOnly: boolean): void => {
    if (name === undefined || !ts.isStringLiteral(name)) return;
    const isOurs = name.text.startsWith('.');
    const target = isOurs ? join(dirname(path), name.text).replace(/\.js$/, '.ts') : name.text;
    found.push({ target, isTypeOnly });
  };
  visit(tree, (node) => {
    if (ts.isImportDeclaration(node)) note(node.moduleSpecifier, isTypeImport(node));
    else if (ts.isExportDeclaration(node)) note(node.moduleSpecifier, node.isTypeOnly);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      note(node.arguments[0], false);
    }
  });
  return found;
}

function isTypeImport({ importClause }: ts.ImportDeclaration): boolean {
  if (importClause === undefined) return false;
  if (importClause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const { name, namedBindings } = importClause;
  return (
    name === undefined &&
    namedBindings !== undefined &&
    ts.isNamedImports(namedBindings) &&
    namedBindings.elements.every((element) => element.isTypeOnly)
  );
}

function visit(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  node.forEachChild((child) => {
    visit(child, look);
  });
}

/** Where a node for which `isFound` holds stands. */
function places(files: readonly SourceFile[], isFound: (node: ts.Node) => boolean): string[] {
  const found: string[] = [];
  for (const { path, tree } of files) {
    visit(tree, (node) => {
      if (isFound(node)) found.push(path);
    });
  }
  return found;
}

const isCallOf = (node: ts.Node, text: string): boolean =>
  ts.isCallExpression(node) && node.expression.getText() === text;

const unique = (list: readonly string[]): string[] => [...new Set(list)].sort();

const src = readFiles('src');
const workers = readFiles('workers');
const tests = readFiles('test');
const bench = readFiles('bench');
const all = [...src, ...workers, ...tests, ...bench];

/** The folder of `src` a file is of, or its own name when it lies at the top. */
function partOf(path: string): string {
  const [top = '', part = '', ...rest] = path.split('/');
  if (top !== 'src') return top;
  return rest.length === 0 ? part.replace(/\.ts$/, '') : part;
}

const LEAVES = ['errors', 'validation', 'product', 'config', 'platform', 'stop-signal'];
/** What each part may import besides itself. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(LEAVES.map((leaf) => [leaf, []])),
  refusals: [],
  errors: ['refusals'],
  validation: ['errors'],
  'system-errors': ['errors'],
  pool: ['errors', 'system-errors'],
  storage: ['memory', 'pool', 'errors'],
  store: ['storage', 'pool', 'errors'],
  symbols: ['storage', 'pool', 'errors'],
  lab: ['transfer', 'store', 'storage', 'symbols', 'wire', 'pool', 'errors', 'validation'],
  content: ['storage', 'pool', 'errors'],
  zip: ['content', 'storage', 'pool', 'errors'],
  snapshots: ['content', 'zip', 'transfer', 'images', 'lab', 'store', 'storage', 'pool', 'errors'],
  uploads: ['transfer', 'lab', 'storage', 'pool', 'errors', 'validation'],
  images: ['transfer', 'lab', 'store', 'storage', 'pool', 'errors'],
  transfer: ['memory', 'storage', 'pool', 'errors'],
  http: ['transfer', 'storage', 'wire', 'pool', 'lab', 'errors', 'validation', 'config'],
  api: [
    'http',
    'compute',
    'capture',
    'images',
    'snapshots',
    'uploads',
    'transfer',
    'lab',
    'errors',
    'validation',
    'product',
  ],
  workers: [
    'engines',
    'compute',
    'capture',
    'images',
    'snapshots',
    'uploads',
    'transfer',
    'lab',
    'symbols',
    'store',
    'storage',
    'pool',
    'errors',
  ],
  memory: [],
  wire: [],
  switching: ['memory', 'wire'],
  sockets: ['memory', 'switching'],
  engines: ['memory', 'switching', 'sockets'],
  capture: ['engines', 'switching', 'memory', 'wire', 'storage', 'pool', 'errors', 'validation'],
  compute: [
    'capture',
    'transfer',
    'lab',
    'engines',
    'sockets',
    'switching',
    'memory',
    'wire',
    'storage',
    'pool',
    'errors',
    'validation',
    'product',
  ],
  cli: ['product', 'storage'],
  main: ['config', 'platform', 'product', 'serve'],
  serve: [
    'api',
    'http',
    'compute',
    'capture',
    'engines',
    'sockets',
    'images',
    'snapshots',
    'uploads',
    'transfer',
    'lab',
    'pool',
    'store',
    'storage',
    'config',
    'product',
    'stop-signal',
    'errors',
  ],
};

void t.test('imports point one way', (t) => {
  for (const { path, imports } of [...src, ...workers]) {
    const part = partOf(path);
    const allowed = ALLOWED[part];
    if (allowed === undefined) t.fail(`${path}: say in this test what ${part} may import`);
    for (const { target } of imports) {
      if (!target.startsWith('src/')) continue;
      const wanted = partOf(target);
      if (wanted !== part && allowed?.includes(wanted) !== true) t.fail(`${path} imports ${target}`);
    }
  }
  t.pass(`${src.length} files were read`);
  t.end();
});

void t.test('the HTTP edge knows of the lab only how events are told, and of worker code only types', (t) => {
  const ofHttp = src.filter(({ path }) => partOf(path) === 'http').flatMap((file) => file.imports);
  t.same(unique(ofHttp.filter(({ target }) => partOf(target) === 'lab').map(({ target }) => target)), [
    'src/lab/channel.ts',
    'src/lab/host-load.ts',
  ]);
  for (const { target, isTypeOnly } of ofHttp) {
    if (['storage', 'pool'].includes(partOf(target)) && target.startsWith('src/')) t.ok(isTypeOnly, target);
  }
  t.end();
});

void t.test('what moves frames is free of the platform', (t) => {
  const pure = src.filter(({ path }) => ['memory', 'wire', 'switching'].includes(partOf(path)));
  t.ok(pure.length > 10);
  for (const { path, imports } of pure) {
    for (const { target, isTypeOnly } of imports) {
      if (!target.startsWith('src/') && !isTypeOnly) t.fail(`${path} imports ${target}`);
    }
  }
  t.end();
});

void t.test('no file needs itself', (t) => {
  const byPath = new Map(src.map((file) => [file.path, file]));
  const done = new Set<string>();
  const walk = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) {
      t.fail(`a cycle: ${[...way.slice(way.indexOf(path)), path].join(' -> ')}`);
      return;
    }
    if (done.has(path)) return;
    for (const { target, isTypeOnly } of byPath.get(path)?.imports ?? []) {
      if (!isTypeOnly) walk(target, [...way, path]);
    }
    done.add(path);
  };
  for (const { path } of src) walk(path, []);
  t.equal(done.size >= src.length, true);
  t.end();
});

void t.test('every import of ours is a file that is there', (t) => {
  for (const { path, imports } of [...src, ...workers]) {
    for (const { target } of imports) {
      if (target.startsWith('src/') && !existsSync(join(ROOT, target))) t.fail(`${path} imports ${target}`);
    }
  }
  t.pass();
  t.end();
});

void t.test('the environment is read in one place', (t) => {
  const isEnvironment = (node: ts.Node): boolean =>
    ts.isPropertyAccessExpression(node) && node.getText() === 'process.env';
  // main hands it to config, that of the program to its command; serve sets what the HTTP library reads at loading.
  t.same(unique(places([...src, ...workers], isEnvironment)), [
    'src/cli/main.ts',
    'src/main.ts',
    'src/serve.ts',
  ]);
  t.match(readSource('src/main.ts').text, 'readCommand(process.argv.slice(2), process.env)');
  t.match(readSource('src/cli/main.ts').text, 'runCommand(process.argv.slice(2), process.env)');
  const inServe = readSource('src/serve.ts').text.match(/process\.env.*/g) ?? [];
  t.equal(inServe.length, 1);
  t.match(inServe[0], /^process\.env\['UWS_HTTP_MAX_HEADERS_SIZE'\] = /);
  t.end();
});

/** Who asks for the time of day: it is told, or kept for another life, or compared with times of files. */
const ASK_THE_DAY = [
  'src/capture/capture.ts',
  'src/content/still-tree.ts',
  'src/lab/capture-files.ts',
  'src/snapshots/planned-files.ts',
  'src/snapshots/snapshots.ts',
  'src/switching/taps/tap-clock.ts',
  'src/transfer/upload.ts',
  'src/uploads/uploads.ts',
];

void t.test('spans of time are measured by the clock that nobody sets', (t) => {
  t.same(unique(places([...src, ...workers], (node) => isCallOf(node, 'Date.now'))), ASK_THE_DAY);
  t.end();
});

void t.test('the process is ended in three places', (t) => {
  t.same(unique(places([...src, ...workers], (node) => isCallOf(node, 'process.exit'))), [
    'src/main.ts',
    'src/serve.ts',
    'src/stop-signal.ts',
  ]);
  t.end();
});

/** Files that touch the disk at once, and the thread or the moment that permits it. */
const DISK_FILES = [
  'src/capture/capture-place.ts', // writer loops
  'src/capture/disk-room.ts', // writer loops
  'src/capture/file-chores.ts', // beside the writer loops
  'src/capture/log-writer.ts', // writer loops
  'src/capture/usage-tasks.ts', // file threads
  'src/capture/writer-loop.ts', // writer loops
  'src/cli/extcap-install.ts', // a program of its own
  'src/cli/fifo.ts', // a program of its own
  'src/cli/part-file.ts', // a program of its own
  'src/cli/pull.ts', // a program of its own
  'src/cli/source-file.ts', // a program of its own
  'src/compute/host-tasks.ts', // file threads
  'src/content/content-store.ts', // job threads
  'src/content/intake.ts', // job threads
  'src/content/manifest.ts', // job threads
  'src/content/object-collection.ts', // job threads
  'src/content/object-use.ts', // job threads
  'src/content/open-objects.ts', // job threads
  'src/content/pack-index.ts', // job threads
  'src/content/pack.ts', // job threads
  'src/content/source-digest.ts', // job threads
  'src/content/source-reading.ts', // job threads
  'src/content/still-tree.ts', // job threads
  'src/content/stored-reading.ts', // job threads
  'src/content/tree-building.ts', // job threads
  'src/images/image-tasks.ts', // disk threads
  'src/images/side-file.ts', // disk threads
  'src/lab/capture-file-tasks.ts', // file threads
  'src/lab/file-placing.ts', // disk threads, file threads
  'src/lab/folder-exchange.ts', // file threads
  'src/lab/folder-tasks.ts', // file threads
  'src/lab/node-archive-tasks.ts', // disk threads
  'src/lab/node-file-tasks.ts', // file threads
  'src/lab/topology-disk.ts', // file threads
  'src/lab/topology-tasks.ts', // file threads
  'src/pool/thread-work.ts', // HTTP thread, loops: /proc, which is no disk
  'src/product.ts', // start
  'src/serve.ts', // start
  'src/snapshots/copied-files.ts', // job threads
  'src/snapshots/copied-snapshots.ts', // job threads
  'src/snapshots/copy-tasks.ts', // job threads
  'src/snapshots/export-images.ts', // job threads
  'src/snapshots/export-plan.ts', // job threads
  'src/snapshots/gns3-snapshots.ts', // file threads, job threads
  'src/snapshots/import-tasks.ts', // job threads
  'src/snapshots/imported-images.ts', // job threads
  'src/snapshots/making-tasks.ts', // job threads
  'src/snapshots/planned-files.ts', // job threads
  'src/snapshots/project-archive.ts', // job threads
  'src/snapshots/snapshot-tasks.ts', // job threads
  'src/snapshots/still-tasks.ts', // job threads
  'src/sockets/linux/linux-opener.ts', // HTTP thread: removes the file of a Unix socket
  'src/storage/block-sharing.ts', // disk threads, job thread
  'src/storage/bulk-file.ts', // disk threads, job thread
  'src/storage/containment.ts', // file threads
  'src/storage/content-version.ts', // job threads, disk threads
  'src/storage/disk-floor.ts', // disk threads, job threads, transfer loops
  'src/storage/file-calls.ts', // disk threads, job thread, transfer loops
  'src/storage/file-tasks.ts', // file threads
  'src/storage/folder-digests.ts', // file threads
  'src/storage/folder-lock.ts', // start
  'src/storage/published-file.ts', // file threads
  'src/storage/regular-file.ts', // file threads
  'src/storage/tar-reading.ts', // disk threads
  'src/storage/tree-sync.ts', // disk threads, job threads
  'src/store/journal-file.ts', // state thread
  'src/store/journal-opening.ts', // state thread
  'src/store/journal-reading.ts', // state thread
  'src/store/journal-store.ts', // state thread
  'src/store/lmdb-reading.ts', // state thread
  'src/symbols/symbol-tasks.ts', // file threads
  'src/transfer/content-writer.ts', // transfer loops
  'src/transfer/digester.ts', // transfer loops, disk threads
  'src/transfer/disk-tasks.ts', // disk threads
  'src/transfer/file-place.ts', // transfer loops, disk threads
  'src/transfer/transfer-loop.ts', // transfer loops
  'src/uploads/part-tasks.ts', // disk threads
  'src/zip/directory-file.ts', // job threads
  'src/zip/member-content.ts', // job threads
  'src/zip/read-window.ts', // job threads
  'src/zip/zip-plan.ts', // job threads
];

void t.test('the disk is touched in worker threads or at start only', (t) => {
  const users = src.filter(({ imports }) =>
    imports.some(({ target }) => /^(node:)?fs(\/promises)?$/.test(target)),
  );
  t.same(
    users.map(({ path }) => path),
    DISK_FILES,
  );
  t.end();
});

/** Files that wait for something in one step, the disk apart, and the thread that permits it. */
const WAITING_FILES = [
  'src/pool/loop-task.ts', // endless tasks, for their bell
  'src/zip/member-encoding.ts', // job threads
  'src/zip/zip-content.ts', // job threads
];
/** Files that start a process: that of the server stands still while it is done. */
const STARTING_FILES = [
  'src/capture/compiler-process.ts', // the expression thread
  'src/cli/extcap-install.ts', // a program of its own
];

void t.test('nothing is waited for in one step, and no process started, but in worker threads', (t) => {
  const isWait = (node: ts.Node): boolean =>
    ts.isCallExpression(node) && /(\w[a-z]Sync|Atomics\.wait)$/.test(node.expression.getText());
  const others = src.filter(({ path }) => !DISK_FILES.includes(path));
  t.same(unique(places(others, isWait)), WAITING_FILES);
  const starters = src.filter(({ imports }) =>
    imports.some(({ target }) => /^(node:)?child_process$/.test(target)),
  );
  t.same(
    starters.map(({ path }) => path),
    STARTING_FILES,
  );
  t.end();
});

void t.test('long streams are written in one folder', (t) => {
  const isCallOfOne =
    (...names: readonly string[]) =>
    (node: ts.Node): boolean =>
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      names.includes(node.expression.name.text) &&
      !/(^process\.std(out|err)|\bsink|\bupload)\.write$/.test(node.expression.getText());
  const streams = 'src/http/streams/';
  // None of these has ever seen a response.
  const blind = ['sockets', 'switching', 'storage', 'store', 'transfer', 'content', 'zip', 'snapshots'];
  const others = src.filter(({ path }) => !blind.includes(partOf(path)));
  t.same(unique(places(others, isCallOfOne('write', 'tryEnd'))), [
    `${streams}chunk-writer.ts`,
    `${streams}chunked-response.ts`,
    `${streams}sized-response.ts`,
    `${streams}tail-response.ts`,
  ]);
  // Who has a stream of that folder may hold it back; who has none would do it to the response itself.
  for (const path of unique(places(others, isCallOfOne('pause', 'resume')))) {
    if (path.startsWith(streams)) continue;
    const targets = readSource(path).imports.map(({ target }) => target);
    t.ok(targets.some((target) => target.startsWith(streams)) && !targets.includes('uWebSockets.js'), path);
  }
  t.end();
});

void t.test('files are small', (t) => {
  const sizes = [...src, ...workers].map(({ path, lines }) => ({ path, lines }));
  sizes.sort((a, b) => a.lines - b.lines);
  const median = sizes[Math.floor(sizes.length / 2)]?.lines ?? 0;
  const largest = sizes.at(-1);
  t.comment(`median ${median} lines, largest ${largest?.lines ?? 0} (${largest?.path ?? ''})`);
  t.same(
    sizes.filter(({ lines }) => lines > 400),
    [],
    'none is longer than 400 lines',
  );
  t.end();
});

void t.test('names are nouns of the problem', (t) => {
  const empty = /(^|[/.-])(util|helper|common|misc|manager|shared)s?($|[/.-])/;
  const isKebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|contract|bench))?\.ts$/;
  for (const { path } of all) {
    if (empty.test(path)) t.fail(`${path} says nothing`);
    if (!isKebab.test(path.split('/').at(-1) ?? '')) t.fail(`${path} is not in kebab case`);
  }
  for (const { path } of workers) t.match(path, /-worker\.ts$/);
  t.ok(all.length > 100);
  t.end();
});

void t.test('the compiler is on our side', (t) => {
  t.same(unique(places(all, (node) => node.kind === ts.SyntaxKind.AnyKeyword)), [], 'nothing is any');
  const silences = all.filter(({ text }) => /^\s*(\/\/|\/\*)\s*@ts-(ignore|nocheck)/m.test(text));
  t.same(
    silences.map(({ path }) => path),
    [],
  );
  const expecting = [...src, ...workers].filter(({ text }) => text.includes('@ts-expect-error'));
  t.same(
    expecting.map(({ path }) => path),
    [],
  );
  const assertions = places([...src, ...workers], (node) => {
    return ts.isAsExpression(node) && node.type.getText() !== 'const';
  });
  t.comment(`${assertions.length} type assertions in src and workers`);
  t.same(places([...src, ...workers], ts.isNonNullExpression), []);
  t.end();
});

/** Files without a mirror test, by what tests them instead. */
const TESTED_ELSEWHERE: Readonly<Record<string, string>> = {
  'src/content/chunk-sink.ts': 'test/content/content-store.test.ts',
  'src/content/content-tree.ts': 'test/content/content-store.test.ts',
  'src/content/intake.ts': 'test/content/content-store.test.ts',
  'src/content/job-progress.ts': 'test/content/content-store.test.ts',
  'src/content/object-collection.ts': 'test/content/content-store.test.ts',
  'src/content/object-name.ts': 'test/content/content-store.test.ts',
  'src/content/object-use.ts': 'test/content/content-store.test.ts',
  'src/content/open-objects.ts': 'test/content/content-store.test.ts',
  'src/content/pack.ts': 'test/content/content-store.test.ts',
  'src/content/pack-index.ts': 'test/content/content-store.test.ts',
  'src/content/piece-reading.ts': 'test/content/content-store.test.ts',
  'src/content/source-reading.ts': 'test/content/content-store.test.ts',
  'src/content/tree-building.ts': 'test/content/content-store.test.ts',
  'src/content/tree-check.ts': 'test/content/manifest.test.ts',
  'src/storage/tree-sync.ts': 'test/content/content-store.test.ts',
  'src/content/tree-text.ts': 'test/content/manifest.test.ts',
  'src/content/source-digest.ts': 'test/api/snapshots-restore.test.ts',
  'src/storage/read-advice.ts': 'test/transfer/page-cache.test.ts',
  'src/capture/file-segment.ts': 'test/capture/log-file.test.ts',
  'src/capture/writer-orders.ts': 'test/capture/supervised-writer.test.ts',
  'src/capture/writer-task.ts': 'test/capture/supervised-writer.test.ts',
  'src/cli/download.ts': 'test/cli/pull.test.ts',
  'src/cli/part-file.ts': 'test/cli/pull.test.ts',
  'src/cli/remote-image.ts': 'test/cli/pull.test.ts',
  'src/cli/source-file.ts': 'test/cli/push.test.ts',
  'src/cli/transfer-options.ts': 'test/cli/push.test.ts',
  'src/engines/engine-task.ts': 'test/engines/supervised-engine.test.ts',
  'src/capture/confinement.ts': 'test/capture/compiler-process.test.ts',
  'src/pool/loop-orders.ts': 'test/pool/loop-run.test.ts',
  'src/sockets/linux/constants.ts': 'test/sockets/transport.contract.ts',
  'src/sockets/linux/libc.ts': 'test/sockets/transport.contract.ts',
  'src/sockets/opener.ts': 'test/sockets/opener.contract.ts',
  'src/switching/device.ts': 'what each device must do',
  'src/switching/endpoint.ts': 'test/sockets/opener.contract.ts',
  'src/switching/filters/filter-plan.ts': 'test/switching/filters/filter-chain.test.ts',
  'src/switching/orders.ts': 'test/switching/engine.test.ts',
  'src/switching/taps/aal5-frames.ts': 'test/switching/taps/tshark.test.ts',
  'src/switching/taps/log-words.ts': 'test/switching/taps/log-writer.test.ts',
  'src/switching/taps/record-form.ts': 'test/switching/taps/tap.test.ts',
  'src/switching/taps/recorder.ts': 'test/switching/taps/tap.test.ts',
  'src/switching/taps/tap-plan.ts': 'test/switching/taps/tap.test.ts',
  'src/switching/taps/whole-frames.ts': 'test/switching/taps/tap.test.ts',
  'src/switching/transport.ts': 'test/sockets/transport.contract.ts',
  'src/sockets/host-sockets.ts': 'test/sockets/opener.contract.ts',
  'src/transfer/digester.ts': 'test/transfer/content-writer.test.ts',
  'src/transfer/landing.ts': 'through HTTP',
  'src/transfer/transfer-orders.ts': 'test/transfer/transfer-loop.test.ts',
  'src/refusals/compute-refusals.ts': 'test/errors.test.ts',
  'src/refusals/lab-refusals.ts': 'test/errors.test.ts',
  'src/refusals/refusal.ts': 'test/errors.test.ts',
  'src/refusals/request-refusals.ts': 'test/errors.test.ts',
  'src/refusals/snapshot-refusals.ts': 'test/errors.test.ts',
  'src/main.ts': 'through the process',
  'src/serve.ts': 'through the process',
  'src/stop-signal.ts': 'through the process',
  'src/compute/attachments.ts': 'through HTTP',
  'src/compute/compute-project.ts': 'through HTTP',
  'src/compute/compute-projects.ts': 'through HTTP',
  'src/compute/file-list.ts': 'through HTTP',
  'src/compute/local-compute.ts': 'through HTTP',
  'src/compute/link-wires.ts': 'through HTTP',
  'src/compute/nio-sockets.ts': 'through HTTP',
  'src/compute/project-folders.ts': 'through HTTP',
  'src/compute/port-captures.ts': 'through HTTP',
  'src/compute/run-capture.ts': 'through HTTP',
  'src/compute/run-stream.ts': 'through HTTP',
  'src/compute/switch-node.ts': 'through HTTP',
  'src/storage/file-calls.ts': 'test/storage/bulk-file.test.ts',
  'src/store/journal-format.ts': 'test/store/journal-reading.test.ts',
  'src/store/state-tasks.ts': 'test/store/journal-store.test.ts',
  'src/store/packing.ts': 'test/store/journal-store.test.ts',
  'src/lab/aside-folders.ts': 'test/durability/projects-folder.test.ts',
  'src/lab/content-limit.ts': 'test/lab/topology-loading.test.ts',
  'src/lab/older-layout.ts': 'test/durability/projects-folder.test.ts',
  'src/lab/project-places.ts': 'test/api/project-places.test.ts',
  'src/store/store.ts': 'test/store/store.contract.ts',
  'src/capture/capture.ts': 'through HTTP',
  'src/capture/captures.ts': 'through HTTP',
  'src/capture/log-stream.ts': 'through HTTP',
  'src/images/image-library.ts': 'through HTTP',
  'src/lab/computes.ts': 'through HTTP',
  'src/lab/content-exchange.ts': 'test/api/snapshots-restore.test.ts',
  'src/lab/directed-filters.ts': 'through HTTP',
  'src/lab/drawing-changes.ts': 'through HTTP',
  'src/lab/farm.ts': 'through HTTP',
  'src/lab/folder-tasks.ts': 'through HTTP',
  'src/lab/lab-run.ts': 'test/compute/compute-run.test.ts',
  'src/lab/link-capture.ts': 'through HTTP',
  'src/lab/link-changes.ts': 'through HTTP',
  'src/lab/link-making.ts': 'through HTTP',
  'src/lab/link-streams.ts': 'through HTTP',
  'src/lab/node-changes.ts': 'through HTTP',
  'src/lab/node-restoring.ts': 'test/api/snapshots-restore.test.ts',
  'src/lab/project-content.ts': 'through HTTP',
  'src/lab/project-head.ts': 'through HTTP',
  'src/lab/project.ts': 'through HTTP',
  'src/lab/project-services.ts': 'through HTTP',
  'src/lab/projects.ts': 'through HTTP',
  'src/lab/template-schema.ts': 'through HTTP',
  'src/lab/templates.ts': 'through HTTP',
  'src/lab/topology-disk.ts': 'through HTTP',
  'src/lab/topology-import.ts': 'through HTTP',
  'src/lab/topology-tasks.ts': 'through HTTP',
  'src/lab/topology-mirror.ts': 'through HTTP',
  'src/snapshots/archive-source.ts': 'through HTTP',
  'src/snapshots/copied-files.ts': 'through HTTP',
  'src/snapshots/copied-snapshots.ts': 'through HTTP',
  'src/snapshots/copy-tasks.ts': 'through HTTP',
  'src/snapshots/export-images.ts': 'through HTTP',
  'src/snapshots/export-plan.ts': 'through HTTP',
  'src/snapshots/export-tasks.ts': 'through HTTP',
  'src/snapshots/import-tasks.ts': 'through HTTP',
  'src/snapshots/imported-images.ts': 'through HTTP',
  'src/snapshots/making-tasks.ts': 'through HTTP',
  'src/snapshots/planned-files.ts': 'through HTTP',
  'src/snapshots/project-copies.ts': 'through HTTP',
  'src/snapshots/project-exchange.ts': 'through HTTP',
  'src/snapshots/project-imports.ts': 'through HTTP',
  'src/snapshots/project-makings.ts': 'through HTTP',
  'src/lab/project-making.ts': 'through HTTP',
  'src/lab/project-removal.ts': 'through HTTP',
  'src/snapshots/archived-snapshot.ts': 'test/api/snapshots-gns3.test.ts',
  'src/snapshots/compare-tasks.ts': 'test/api/snapshots-restore.test.ts',
  'src/snapshots/project-archive.ts': 'test/api/snapshots-gns3.test.ts',
  'src/snapshots/snapshot.ts': 'test/api/snapshots.test.ts',
  'src/snapshots/snapshot-list-tasks.ts': 'test/api/snapshots.test.ts',
  'src/snapshots/snapshot-tasks.ts': 'test/api/snapshots.test.ts',
  'src/snapshots/snapshots.ts': 'test/api/snapshots.test.ts',
  'src/symbols/emblem-glyphs.ts': 'test/symbols/symbol-glyphs.test.ts',
  'src/symbols/host-glyphs.ts': 'test/symbols/symbol-glyphs.test.ts',
  'src/symbols/media-glyphs.ts': 'test/symbols/symbol-glyphs.test.ts',
  'src/symbols/network-glyphs.ts': 'test/symbols/symbol-glyphs.test.ts',
  'src/zip/bzip2-library.ts': 'test/zip/bzip2-decoder.test.ts',
  'src/zip/directory-entry.ts': 'test/zip/zip-directory.test.ts',
  'src/zip/directory-file.ts': 'test/zip/zip-pieces.test.ts',
  'src/zip/lzma-library.ts': 'test/zip/lzma-decoder.test.ts',
  'src/zip/member-content.ts': 'test/zip/zip-pieces.test.ts',
  'src/zip/member-encoding.ts': 'test/zip/zip-pieces.test.ts',
  'src/zip/member-name.ts': 'test/zip/zip-directory.test.ts',
  'src/zip/piece-room.ts': 'test/zip/zip-pieces.test.ts',
  'src/zip/read-window.ts': 'test/zip/zip-directory.test.ts',
  'src/zip/zip-end.ts': 'test/zip/zip-directory.test.ts',
};
/** Folders that are tested through HTTP as a whole where they have no mirror. */
const EDGE = ['api', 'http'];
const SMALL = 25;

void t.test('every file with rules of its own has a test that mirrors it', (t) => {
  for (const { path, lines } of src) {
    const mirror = path.replace(/^src\//, 'test/').replace(/\.ts$/, '.test.ts');
    const hasMirror = existsSync(join(ROOT, mirror));
    const elsewhere = TESTED_ELSEWHERE[path];
    if (hasMirror && elsewhere !== undefined) t.fail(`${path} has a mirror: take it off the list`);
    if (hasMirror || elsewhere !== undefined || lines <= SMALL || EDGE.includes(partOf(path))) continue;
    t.fail(`${path} has no test: write ${mirror}`);
  }
  for (const [path, where] of Object.entries(TESTED_ELSEWHERE)) {
    t.ok(existsSync(join(ROOT, path)), path);
    if (where.endsWith('.ts')) t.ok(existsSync(join(ROOT, where)), where);
  }
  t.end();
});

void t.test('every folder of src is named in ARCHITECTURE.md', (t) => {
  const page = resolve(ROOT, 'ARCHITECTURE.md');
  if (!existsSync(page)) t.fail('there is no ARCHITECTURE.md');
  const text = existsSync(page) ? readFileSync(page, 'utf8') : '';
  const folders = unique(src.map(({ path }) => dirname(path))).filter((folder) => folder !== 'src');
  for (const folder of folders) {
    const name = folder.replace(/^src\//, '');
    t.match(text, new RegExp(`[\`/]${name}[\`/]`), `${folder} is named`);
  }
  t.end();
});
