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
    'src/base/streams/channel.ts',
    'src/base/host-load.ts',
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
    'src/server/main.ts',
    'src/server/serve.ts',
  ]);
  t.match(readSource('src/server/main.ts').text, 'readCommand(process.argv.slice(2), process.env)');
  t.match(readSource('src/cli/main.ts').text, 'runCommand(process.argv.slice(2), process.env)');
  const inServe = readSource('src/server/serve.ts').text.match(/process\.env.*/g) ?? [];
  t.equal(inServe.length, 1);
  t.match(inServe[0], /^process\.env\['UWS_HTTP_MAX_HEADERS_SIZE'\] = /);
  t.end();
});

/** Who asks for the time of day: it is told, or kept for another life, or compared with times of files. */
const ASK_THE_DAY = [
  'src/captures/capture.ts',
  'src/snapshots/content/still-tree.ts',
  'src/captures/files/capture-files.ts',
  'src/snapshots/projects/planned-files.ts',
  'src/snapshots/snapshots.ts',
  'src/engine/taps/tap-clock.ts',
  'src/files/transfer/upload.ts',
  'src/files/uploads/uploads.ts',
];

void t.test('spans of time are measured by the clock that nobody sets', (t) => {
  t.same(unique(places([...src, ...workers], (node) => isCallOf(node, 'Date.now'))), ASK_THE_DAY);
  t.end();
});

void t.test('the process is ended in three places', (t) => {
  t.same(unique(places([...src, ...workers], (node) => isCallOf(node, 'process.exit'))), [
    'src/server/main.ts',
    'src/server/serve.ts',
    'src/server/stop-signal.ts',
  ]);
  t.end();
});

/** Files that touch the disk at once, and the thread or the moment that permits it. */
const DISK_FILES = [
  'src/captures/writing/capture-place.ts', // writer loops
  'src/captures/writing/disk-room.ts', // writer loops
  'src/captures/writing/file-chores.ts', // beside the writer loops
  'src/captures/writing/log-writer.ts', // writer loops
  'src/captures/usage-tasks.ts', // file threads
  'src/captures/writing/writer-loop.ts', // writer loops
  'src/cli/extcap-install.ts', // a program of its own
  'src/cli/fifo.ts', // a program of its own
  'src/cli/part-file.ts', // a program of its own
  'src/cli/pull.ts', // a program of its own
  'src/cli/source-file.ts', // a program of its own
  'src/run/host-tasks.ts', // file threads
  'src/snapshots/content/content-store.ts', // job threads
  'src/snapshots/content/intake.ts', // job threads
  'src/snapshots/content/manifest.ts', // job threads
  'src/snapshots/content/object-collection.ts', // job threads
  'src/snapshots/content/object-use.ts', // job threads
  'src/snapshots/content/open-objects.ts', // job threads
  'src/snapshots/content/pack-index.ts', // job threads
  'src/snapshots/content/pack.ts', // job threads
  'src/snapshots/content/source-digest.ts', // job threads
  'src/snapshots/content/source-reading.ts', // job threads
  'src/snapshots/content/still-tree.ts', // job threads
  'src/snapshots/content/stored-reading.ts', // job threads
  'src/snapshots/content/tree-building.ts', // job threads
  'src/files/images/image-tasks.ts', // disk threads
  'src/files/images/side-file.ts', // disk threads
  'src/captures/files/capture-file-tasks.ts', // file threads
  'src/files/node-files/file-placing.ts', // disk threads, file threads
  'src/lab/projects/folder-exchange.ts', // file threads
  'src/lab/projects/folder-tasks.ts', // file threads
  'src/files/node-files/node-archive-tasks.ts', // disk threads
  'src/files/node-files/node-file-tasks.ts', // file threads
  'src/lab/gns3-file/topology-disk.ts', // file threads
  'src/lab/gns3-file/topology-tasks.ts', // file threads
  'src/base/threads/thread-work.ts', // HTTP thread, loops: /proc, which is no disk
  'src/base/product.ts', // start
  'src/server/serve.ts', // start
  'src/snapshots/projects/copied-files.ts', // job threads
  'src/snapshots/projects/copied-snapshots.ts', // job threads
  'src/snapshots/projects/copy-tasks.ts', // job threads
  'src/snapshots/projects/export-images.ts', // job threads
  'src/snapshots/projects/export-plan.ts', // job threads
  'src/snapshots/projects/gns3-snapshots.ts', // file threads, job threads
  'src/snapshots/projects/import-tasks.ts', // job threads
  'src/snapshots/projects/imported-images.ts', // job threads
  'src/snapshots/projects/making-tasks.ts', // job threads
  'src/snapshots/projects/planned-files.ts', // job threads
  'src/snapshots/projects/project-archive.ts', // job threads
  'src/snapshots/snapshot-tasks.ts', // job threads
  'src/snapshots/still-tasks.ts', // job threads
  'src/engine/sockets/linux/linux-opener.ts', // HTTP thread: removes the file of a Unix socket
  'src/base/disk/block-sharing.ts', // disk threads, job thread
  'src/base/disk/bulk-file.ts', // disk threads, job thread
  'src/base/disk/containment.ts', // file threads
  'src/base/disk/content-version.ts', // job threads, disk threads
  'src/base/disk/disk-floor.ts', // disk threads, job threads, transfer loops
  'src/base/disk/file-calls.ts', // disk threads, job thread, transfer loops
  'src/base/disk/file-tasks.ts', // file threads
  'src/base/disk/folder-digests.ts', // file threads
  'src/base/disk/folder-lock.ts', // start
  'src/base/disk/published-file.ts', // file threads
  'src/base/disk/regular-file.ts', // file threads
  'src/base/disk/tar-reading.ts', // disk threads
  'src/base/disk/tree-sync.ts', // disk threads, job threads
  'src/base/store/journal-file.ts', // state thread
  'src/base/store/journal-opening.ts', // state thread
  'src/base/store/journal-reading.ts', // state thread
  'src/base/store/journal-store.ts', // state thread
  'src/base/store/lmdb-reading.ts', // state thread
  'src/lab/symbols/symbol-tasks.ts', // file threads
  'src/files/transfer/content-writer.ts', // transfer loops
  'src/files/transfer/digester.ts', // transfer loops, disk threads
  'src/files/transfer/disk-tasks.ts', // disk threads
  'src/files/transfer/file-place.ts', // transfer loops, disk threads
  'src/files/transfer/transfer-loop.ts', // transfer loops
  'src/files/uploads/part-tasks.ts', // disk threads
  'src/snapshots/archives/directory-file.ts', // job threads
  'src/snapshots/archives/member-content.ts', // job threads
  'src/snapshots/archives/read-window.ts', // job threads
  'src/snapshots/archives/zip-plan.ts', // job threads
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
  'src/base/threads/loop-task.ts', // endless tasks, for their bell
  'src/snapshots/archives/member-encoding.ts', // job threads
  'src/snapshots/archives/zip-content.ts', // job threads
];
/** Files that start a process: that of the server stands still while it is done. */
const STARTING_FILES = [
  'src/engine/bpf/compiler-process.ts', // the expression thread
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
  'src/snapshots/content/chunk-sink.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/content-tree.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/intake.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/job-progress.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/object-collection.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/object-name.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/object-use.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/open-objects.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/pack.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/pack-index.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/piece-reading.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/source-reading.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/tree-building.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/tree-check.ts': 'test/snapshots/content/manifest.test.ts',
  'src/base/disk/tree-sync.ts': 'test/snapshots/content/content-store.test.ts',
  'src/snapshots/content/tree-text.ts': 'test/snapshots/content/manifest.test.ts',
  'src/snapshots/content/source-digest.ts': 'test/api/snapshots-restore.test.ts',
  'src/base/disk/read-advice.ts': 'test/files/downloads/page-cache.test.ts',
  'src/captures/log/file-segment.ts': 'test/captures/log/log-file.test.ts',
  'src/captures/writing/writer-orders.ts': 'test/captures/writing/supervised-writer.test.ts',
  'src/captures/writing/writer-task.ts': 'test/captures/writing/supervised-writer.test.ts',
  'src/cli/download.ts': 'test/cli/pull.test.ts',
  'src/cli/part-file.ts': 'test/cli/pull.test.ts',
  'src/cli/remote-image.ts': 'test/cli/pull.test.ts',
  'src/cli/source-file.ts': 'test/cli/push.test.ts',
  'src/cli/transfer-options.ts': 'test/cli/push.test.ts',
  'src/engine/control/engine-task.ts': 'test/engine/control/supervised-engine.test.ts',
  'src/engine/bpf/confinement.ts': 'test/engine/bpf/compiler-process.test.ts',
  'src/base/threads/loop-orders.ts': 'test/base/threads/loop-run.test.ts',
  'src/engine/sockets/linux/constants.ts': 'test/engine/sockets/transport.contract.ts',
  'src/engine/sockets/linux/libc.ts': 'test/engine/sockets/transport.contract.ts',
  'src/engine/sockets/opener.ts': 'test/engine/sockets/opener.contract.ts',
  'src/engine/devices/device.ts': 'what each device must do',
  'src/engine/forwarding/endpoint.ts': 'test/engine/sockets/opener.contract.ts',
  'src/engine/filters/filter-plan.ts': 'test/engine/filters/filter-chain.test.ts',
  'src/engine/forwarding/orders.ts': 'test/engine/forwarding/engine.test.ts',
  'src/engine/taps/aal5-frames.ts': 'test/engine/taps/tshark.test.ts',
  'src/engine/taps/log-words.ts': 'test/engine/taps/log-writer.test.ts',
  'src/engine/taps/record-form.ts': 'test/engine/taps/tap.test.ts',
  'src/engine/taps/recorder.ts': 'test/engine/taps/tap.test.ts',
  'src/engine/taps/tap-plan.ts': 'test/engine/taps/tap.test.ts',
  'src/engine/taps/whole-frames.ts': 'test/engine/taps/tap.test.ts',
  'src/engine/forwarding/transport.ts': 'test/engine/sockets/transport.contract.ts',
  'src/engine/sockets/host-sockets.ts': 'test/engine/sockets/opener.contract.ts',
  'src/files/transfer/digester.ts': 'test/files/transfer/content-writer.test.ts',
  'src/files/transfer/landing.ts': 'through HTTP',
  'src/files/transfer/transfer-orders.ts': 'test/files/transfer/transfer-loop.test.ts',
  'src/base/errors/compute-refusals.ts': 'test/base/errors/errors.test.ts',
  'src/base/errors/lab-refusals.ts': 'test/base/errors/errors.test.ts',
  'src/base/errors/refusal.ts': 'test/base/errors/errors.test.ts',
  'src/base/errors/request-refusals.ts': 'test/base/errors/errors.test.ts',
  'src/base/errors/snapshot-refusals.ts': 'test/base/errors/errors.test.ts',
  'src/server/main.ts': 'through the process',
  'src/server/serve.ts': 'through the process',
  'src/server/stop-signal.ts': 'through the process',
  'src/run/switches/attachments.ts': 'through HTTP',
  'src/run/compute-project.ts': 'through HTTP',
  'src/run/compute-projects.ts': 'through HTTP',
  'src/run/file-list.ts': 'through HTTP',
  'src/run/local-compute.ts': 'through HTTP',
  'src/run/links/link-wires.ts': 'through HTTP',
  'src/run/links/nio-sockets.ts': 'through HTTP',
  'src/run/project-folders.ts': 'through HTTP',
  'src/captures/port-captures.ts': 'through HTTP',
  'src/captures/run-capture.ts': 'through HTTP',
  'src/captures/run-stream.ts': 'through HTTP',
  'src/run/switches/switch-node.ts': 'through HTTP',
  'src/base/disk/file-calls.ts': 'test/base/disk/bulk-file.test.ts',
  'src/base/store/journal-format.ts': 'test/base/store/journal-reading.test.ts',
  'src/base/store/state-tasks.ts': 'test/base/store/journal-store.test.ts',
  'src/base/store/packing.ts': 'test/base/store/journal-store.test.ts',
  'src/lab/projects/aside-folders.ts': 'test/durability/projects-folder.test.ts',
  'src/lab/projects/content-limit.ts': 'test/lab/topology/topology-loading.test.ts',
  'src/lab/projects/older-layout.ts': 'test/durability/projects-folder.test.ts',
  'src/lab/projects/project-places.ts': 'test/api/project-places.test.ts',
  'src/base/store/store.ts': 'test/base/store/store.contract.ts',
  'src/captures/capture.ts': 'through HTTP',
  'src/captures/captures.ts': 'through HTTP',
  'src/captures/log/log-stream.ts': 'through HTTP',
  'src/files/images/image-library.ts': 'through HTTP',
  'src/lab/computes.ts': 'through HTTP',
  'src/lab/projects/content-exchange.ts': 'test/api/snapshots-restore.test.ts',
  'src/lab/topology/directed-filters.ts': 'through HTTP',
  'src/lab/topology/drawing-changes.ts': 'through HTTP',
  'src/lab/farm.ts': 'through HTTP',
  'src/lab/projects/folder-tasks.ts': 'through HTTP',
  'src/lab/lab-run.ts': 'test/run/compute-run.test.ts',
  'src/captures/link-capture.ts': 'through HTTP',
  'src/lab/topology/link-changes.ts': 'through HTTP',
  'src/lab/topology/link-making.ts': 'through HTTP',
  'src/captures/link-streams.ts': 'through HTTP',
  'src/lab/topology/node-changes.ts': 'through HTTP',
  'src/lab/projects/node-restoring.ts': 'test/api/snapshots-restore.test.ts',
  'src/lab/projects/project-content.ts': 'through HTTP',
  'src/lab/projects/project-head.ts': 'through HTTP',
  'src/lab/projects/project.ts': 'through HTTP',
  'src/lab/projects/project-services.ts': 'through HTTP',
  'src/lab/projects/projects.ts': 'through HTTP',
  'src/lab/template-schema.ts': 'through HTTP',
  'src/lab/templates.ts': 'through HTTP',
  'src/lab/gns3-file/topology-disk.ts': 'through HTTP',
  'src/lab/gns3-file/topology-import.ts': 'through HTTP',
  'src/lab/gns3-file/topology-tasks.ts': 'through HTTP',
  'src/lab/gns3-file/topology-mirror.ts': 'through HTTP',
  'src/snapshots/projects/archive-source.ts': 'through HTTP',
  'src/snapshots/projects/copied-files.ts': 'through HTTP',
  'src/snapshots/projects/copied-snapshots.ts': 'through HTTP',
  'src/snapshots/projects/copy-tasks.ts': 'through HTTP',
  'src/snapshots/projects/export-images.ts': 'through HTTP',
  'src/snapshots/projects/export-plan.ts': 'through HTTP',
  'src/snapshots/projects/export-tasks.ts': 'through HTTP',
  'src/snapshots/projects/import-tasks.ts': 'through HTTP',
  'src/snapshots/projects/imported-images.ts': 'through HTTP',
  'src/snapshots/projects/making-tasks.ts': 'through HTTP',
  'src/snapshots/projects/planned-files.ts': 'through HTTP',
  'src/snapshots/projects/project-copies.ts': 'through HTTP',
  'src/snapshots/projects/project-exchange.ts': 'through HTTP',
  'src/snapshots/projects/project-imports.ts': 'through HTTP',
  'src/snapshots/projects/project-makings.ts': 'through HTTP',
  'src/lab/projects/project-making.ts': 'through HTTP',
  'src/lab/projects/project-removal.ts': 'through HTTP',
  'src/snapshots/projects/archived-snapshot.ts': 'test/api/snapshots-gns3.test.ts',
  'src/snapshots/compare-tasks.ts': 'test/api/snapshots-restore.test.ts',
  'src/snapshots/projects/project-archive.ts': 'test/api/snapshots-gns3.test.ts',
  'src/snapshots/snapshot.ts': 'test/api/snapshots.test.ts',
  'src/snapshots/snapshot-list-tasks.ts': 'test/api/snapshots.test.ts',
  'src/snapshots/snapshot-tasks.ts': 'test/api/snapshots.test.ts',
  'src/snapshots/snapshots.ts': 'test/api/snapshots.test.ts',
  'src/lab/symbols/emblem-glyphs.ts': 'test/lab/symbols/symbol-glyphs.test.ts',
  'src/lab/symbols/host-glyphs.ts': 'test/lab/symbols/symbol-glyphs.test.ts',
  'src/lab/symbols/media-glyphs.ts': 'test/lab/symbols/symbol-glyphs.test.ts',
  'src/lab/symbols/network-glyphs.ts': 'test/lab/symbols/symbol-glyphs.test.ts',
  'src/snapshots/archives/bzip2-library.ts': 'test/snapshots/archives/bzip2-decoder.test.ts',
  'src/snapshots/archives/directory-entry.ts': 'test/snapshots/archives/zip-directory.test.ts',
  'src/snapshots/archives/directory-file.ts': 'test/snapshots/archives/zip-pieces.test.ts',
  'src/snapshots/archives/lzma-library.ts': 'test/snapshots/archives/lzma-decoder.test.ts',
  'src/snapshots/archives/member-content.ts': 'test/snapshots/archives/zip-pieces.test.ts',
  'src/snapshots/archives/member-encoding.ts': 'test/snapshots/archives/zip-pieces.test.ts',
  'src/snapshots/archives/member-name.ts': 'test/snapshots/archives/zip-directory.test.ts',
  'src/snapshots/archives/piece-room.ts': 'test/snapshots/archives/zip-pieces.test.ts',
  'src/snapshots/archives/read-window.ts': 'test/snapshots/archives/zip-directory.test.ts',
  'src/snapshots/archives/zip-end.ts': 'test/snapshots/archives/zip-directory.test.ts',
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
