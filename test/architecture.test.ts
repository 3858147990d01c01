/** The rules of the house, enforced by reading the source. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import ts from '@typescript/typescript6';

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

function readFiles(folder: string, extension = /\.tsx?$/): SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && extension.test(entry.name))
    .map((entry) => readSource(relative(ROOT, join(entry.parentPath, entry.name))))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  // Without parents: they are a fifth of the work of reading.
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, false);
  return { path, text, lines: text.split('\n').length - 1, tree, imports: importsOf(path, tree) };
}

/** Whether the file may import below its statements: a part that is loaded later, or one that a type names. */
const hasInnerImport = ({ text }: ts.SourceFile): boolean => /\bimport\s*\(/.test(text);

function importsOf(path: string, tree: ts.SourceFile): Import[] {
  const found: Import[] = [];
  const note = (name: ts.Node | undefined, isTypeOnly: boolean): void => {
    if (name === undefined || !ts.isStringLiteral(name)) return;
    const isOurs = name.text.startsWith('.');
    found.push({ target: isOurs ? sourceOf(join(dirname(path), name.text)) : name.text, isTypeOnly });
  };
  for (const node of tree.statements) {
    if (ts.isImportDeclaration(node)) note(node.moduleSpecifier, isTypeImport(node));
    else if (ts.isExportDeclaration(node)) note(node.moduleSpecifier, node.isTypeOnly);
  }
  if (!hasInnerImport(tree)) return found;
  visit(tree, (node) => {
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      note(node.arguments[0], false);
    }
  });
  return found;
}

/** The source of a file that is imported by the name of its compiled form. */
function sourceOf(compiled: string): string {
  const source = compiled.replace(/\.js$/, '.ts');
  return existsSync(join(ROOT, `${source}x`)) ? `${source}x` : source;
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
function places(
  files: readonly SourceFile[],
  isFound: (node: ts.Node, tree: ts.SourceFile) => boolean,
): string[] {
  const found: string[] = [];
  for (const { path, tree } of files) {
    visit(tree, (node) => {
      if (isFound(node, tree)) found.push(path);
    });
  }
  return found;
}

const isCallOf = (node: ts.Node, tree: ts.SourceFile, text: string): boolean =>
  ts.isCallExpression(node) && node.expression.getText(tree) === text;

/** Whether nothing of the file is left when it runs. */
const isTypesOnly = ({ tree }: SourceFile): boolean =>
  tree.statements.every(
    (statement) =>
      ts.isImportDeclaration(statement) ||
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement),
  );

const unique = (list: readonly string[]): string[] => [...new Set(list)].sort();

const src = readFiles('src');
const workers = readFiles('workers');
const tests = readFiles('test');
const bench = readFiles('bench');
const scripts = readFiles('scripts', /\.js$/);
const all = [...src, ...workers, ...tests, ...bench];

/** The areas of `src`: each imports only those before it. */
const AREAS = [
  'base',
  'engine',
  'dissection',
  'lab',
  'files',
  'run',
  'captures',
  'snapshots',
  'operations',
  'farm',
  'http',
  'api',
  'server',
  'cli',
  'console',
];

const areaOf = (path: string): string => path.split('/')[1] ?? '';

void t.test('each area imports only those before it', (t) => {
  for (const { path, imports } of src) {
    const rank = AREAS.indexOf(areaOf(path));
    if (rank < 0) t.fail(`${path} is in no area`);
    for (const { target } of imports) {
      if (target.startsWith('src/') && AREAS.indexOf(areaOf(target)) > rank)
        t.fail(`${path} imports ${target}`);
    }
  }
  for (const { path, imports } of workers) {
    for (const { target } of imports) {
      if (['http', 'api', 'server', 'cli'].includes(areaOf(target))) t.fail(`${path} imports ${target}`);
    }
  }
  t.pass(`${src.length} files were read`);
  t.end();
});

/** Areas that know less than their place in the list allows. */
const NARROW: Readonly<Record<string, readonly string[]>> = {
  // Bytes and routes: of labs it knows nothing.
  http: ['base', 'files'],
  // A program of its own, which knows a running server by HTTP only, and a stopped one by its data.
  cli: ['base', 'dissection', 'operations'],
  // Pure: it runs in browsers, too.
  dissection: ['engine'],
  // Pages of browsers, which know the server by HTTP only: of all but dissection they have no more than types.
  console: ['base', 'engine', 'dissection', 'api'],
};

void t.test('some areas import even less', (t) => {
  for (const { path, imports } of src) {
    const area = areaOf(path);
    const allowed = NARROW[area];
    if (allowed === undefined) continue;
    for (const { target } of imports) {
      const wanted = areaOf(target);
      if (target.startsWith('src/') && wanted !== area && !allowed.includes(wanted))
        t.fail(`${path} imports ${target}`);
    }
  }
  t.pass();
  t.end();
});

void t.test(
  'the console has types of the server and the words for rights, and nothing else, paths in one place, and makes no markup of texts',
  (t) => {
    const ofConsole = src.filter(({ path }) => areaOf(path) === 'console');
    t.ok(ofConsole.length > 10);
    for (const { path, text, imports } of ofConsole) {
      for (const { target, isTypeOnly } of imports) {
        if (/^src\/(base|api)\//.test(target) && target !== 'src/base/rights.ts')
          t.ok(isTypeOnly, `${path} imports ${target}`);
        t.notMatch(target, /^node:/, path);
      }
      t.notMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/i, path);
      t.notMatch(text, /\b(process|Buffer)\b\./, `${path} has what browsers have`);
      if (!path.startsWith('src/console/api/')) t.notMatch(text, /['"`]\/?v2\//, `${path} knows a path`);
    }
    for (const { path, imports } of all) {
      if (areaOf(path) !== 'console')
        t.notOk(
          imports.some(({ target }) => target.startsWith('src/console/')),
          `${path} imports the console`,
        );
    }
    t.end();
  },
);

void t.test('the HTTP thread has of what touches the disk only types', (t) => {
  for (const { path, imports } of src.filter(({ path }) => areaOf(path) === 'http')) {
    for (const { target, isTypeOnly } of imports) {
      if (/^src\/base\/(disk|threads)\//.test(target) && target !== 'src/base/disk/tar.ts')
        t.ok(isTypeOnly, `${path} imports ${target}`);
    }
  }
  t.end();
});

void t.test('code that moves frames does not depend on the platform', (t) => {
  const pure = src.filter(({ path }) =>
    /^src\/(base\/memory|dissection|engine\/(wire|devices|forwarding|filters|taps))\//.test(path),
  );
  t.ok(pure.length > 10);
  for (const { path, imports } of pure) {
    for (const { target, isTypeOnly } of imports) {
      if (!target.startsWith('src/') && !isTypeOnly) t.fail(`${path} imports ${target}`);
    }
  }
  t.end();
});

void t.test('no file needs itself, not even for a type', (t) => {
  const byPath = new Map(src.map((file) => [file.path, file]));
  const done = new Set<string>();
  const walk = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) {
      t.fail(`a cycle: ${[...way.slice(way.indexOf(path)), path].join(' -> ')}`);
      return;
    }
    if (done.has(path)) return;
    for (const { target } of byPath.get(path)?.imports ?? []) {
      if (byPath.has(target)) walk(target, [...way, path]);
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
  const isEnvironment = (node: ts.Node, tree: ts.SourceFile): boolean =>
    ts.isPropertyAccessExpression(node) && node.getText(tree) === 'process.env';
  // main hands it to config, that of the program to its command; serve sets what the HTTP library reads at loading.
  t.same(unique(places([...src, ...workers], isEnvironment)), [
    'src/cli/main.ts',
    'src/server/keeper-main.ts',
    'src/server/main.ts',
    'src/server/move-main.ts',
    'src/server/serve.ts',
  ]);
  t.match(readSource('src/server/main.ts').text, 'readCommand(process.argv.slice(2), process.env)');
  t.match(readSource('src/cli/main.ts').text, 'runCommand(process.argv.slice(2), process.env)');
  const inServe = readSource('src/server/serve.ts').text.match(/process\.env.*/g) ?? [];
  t.equal(inServe.length, 1);
  t.match(inServe[0], /^process\.env\['UWS_HTTP_MAX_HEADERS_SIZE'\] = /);
  t.end();
});

void t.test('errors are told by their class and their code, never by their message', (t) => {
  const isMessage = (node: ts.Node | undefined): boolean =>
    node !== undefined && ts.isPropertyAccessExpression(node) && node.name.text === 'message';
  const equalities = [
    ts.SyntaxKind.EqualsEqualsToken,
    ts.SyntaxKind.EqualsEqualsEqualsToken,
    ts.SyntaxKind.ExclamationEqualsToken,
    ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ];
  const searches = ['endsWith', 'exec', 'includes', 'indexOf', 'match', 'search', 'startsWith', 'test'];
  const isComparison = (node: ts.Node): boolean => {
    if (ts.isBinaryExpression(node)) {
      return equalities.includes(node.operatorToken.kind) && [node.left, node.right].some(isMessage);
    }
    if (ts.isSwitchStatement(node)) return isMessage(node.expression);
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
    const { expression: searched, name } = node.expression;
    return searches.includes(name.text) && [searched, ...node.arguments].some(isMessage);
  };
  for (const compared of ["error.message === 'x'", 'other !== error.message', '/x/.test(error.message)']) {
    const tree = ts.createSourceFile('compared.ts', compared, ts.ScriptTarget.ES2022, true);
    t.equal(places([{ ...readSource('src/base/product.ts'), tree }], isComparison).length, 1, compared);
  }
  t.same(unique(places([...src, ...workers], isComparison)), []);
  t.end();
});

void t.test('codes that src tells refusals by are in the tables', (t) => {
  const literals = (node: ts.Node): string[] => {
    const found: string[] = [];
    visit(node, (inner) => {
      if (ts.isStringLiteral(inner)) found.push(inner.text);
    });
    return found;
  };
  const codes = new Set<string>();
  const asked: string[] = [];
  for (const { tree } of src) {
    const constants = new Map<string, ts.Node>();
    visit(tree, (node) => {
      if (ts.isVariableDeclaration(node)) constants.set(node.name.getText(tree), node);
      if (ts.isNewExpression(node) && node.expression.getText(tree) === 'Refusal') {
        const code = node.arguments?.[1];
        if (code !== undefined && ts.isStringLiteral(code)) codes.add(code.text);
      }
    });
    visit(tree, (node) => {
      if (!ts.isCallExpression(node) || node.expression.getText(tree) !== 'isRefusal') return;
      for (const argument of node.arguments.slice(1)) {
        const list = ts.isSpreadElement(argument)
          ? constants.get(argument.expression.getText(tree))
          : argument;
        asked.push(...literals(list ?? argument));
      }
    });
  }
  t.ok(codes.size > 100 && asked.length > 10);
  t.same(
    unique(asked).filter((code) => !codes.has(code)),
    [],
  );
  t.end();
});

/** Files that ask for the time of day: to tell it, to keep it for another life, or to compare it with times of files. */
const ASK_THE_DAY = [
  'src/captures/capture.ts',
  'src/captures/continued-plan.ts',
  'src/captures/far-capture.ts',
  'src/captures/files/capture-library.ts',
  'src/console/parts/quantity.tsx',
  'src/console/state/clock.ts',
  'src/engine/taps/tap-clock.ts',
  'src/files/transfer/upload.ts',
  'src/files/uploads/uploads.ts',
  'src/operations/doctor/bundle.ts',
  'src/operations/doctor/data-checks.ts',
  'src/operations/doctor/folder-checks.ts',
  'src/operations/doctor/network-checks.ts',
  'src/operations/stopped-accounts.ts',
  'src/server/serve.ts',
  'src/snapshots/content/frozen-tree.ts',
  'src/snapshots/known-memories.ts',
  'src/snapshots/snapshots.ts',
];

void t.test('spans of time are measured by the clock that nobody sets', (t) => {
  t.same(unique(places([...src, ...workers], (node, tree) => isCallOf(node, tree, 'Date.now'))), ASK_THE_DAY);
  t.end();
});

void t.test('the process is ended in three places', (t) => {
  t.same(unique(places([...src, ...workers], (node, tree) => isCallOf(node, tree, 'process.exit'))), [
    'src/server/main.ts',
    'src/server/serve.ts',
    'src/server/stop-signal.ts',
  ]);
  t.end();
});

/** The files that a thread loads which starts with this one; types are not loaded. */
function loadedBy(start: string): SourceFile[] {
  const byPath = new Map([...src, ...workers, ...tests].map((file) => [file.path, file]));
  const loaded = new Set<SourceFile>();
  const waiting = [start];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = byPath.get(path);
    if (file === undefined || loaded.has(file)) continue;
    loaded.add(file);
    waiting.push(...file.imports.filter(({ isTypeOnly }) => !isTypeOnly).map(({ target }) => target));
  }
  return [...loaded];
}

/** Files of the HTTP thread that may call the file system at once, and why that holds no request. */
const FILES_OF_THE_HTTP_THREAD = [
  'src/base/disk/folder-lock.ts', // at start
  'src/base/disk/linked-file.ts', // at start
  'src/base/disk/secret-file.ts', // at start
  'src/base/product.ts', // at start
  'src/base/threads/thread-work.ts', // reads /proc
  'src/engine/sockets/linux/linux-opener.ts', // removes the file of a Unix socket
  'src/server/etcd-files.ts', // at start, and later without waiting
  'src/server/folders.ts', // at start
  'src/server/http-library.ts', // at start
  'src/server/record-copy.ts', // without waiting
];

void t.test('the HTTP thread touches no disk, waits for nothing in one step, and starts no process', (t) => {
  const loaded = loadedBy('src/server/main.ts');
  t.ok(loaded.length > 100, `${loaded.length} files`);
  const users = (modules: RegExp): string[] =>
    loaded
      .filter(({ imports }) => imports.some(({ target, isTypeOnly }) => !isTypeOnly && modules.test(target)))
      .map(({ path }) => path)
      .sort();
  t.same(users(/^(node:)?fs(\/promises)?$/), FILES_OF_THE_HTTP_THREAD);
  t.same(users(/^(node:)?child_process$/), []);
  const isWait = (node: ts.Node, tree: ts.SourceFile): boolean =>
    ts.isCallExpression(node) && /(\w[a-z]Sync|Atomics\.wait)$/.test(node.expression.getText(tree));
  const others = loaded.filter(({ path }) => !FILES_OF_THE_HTTP_THREAD.includes(path));
  t.same(unique(places(others, isWait)), []);
  t.end();
});

void t.test('long streams are written in one folder', (t) => {
  const isCallOfOne =
    (...names: readonly string[]) =>
    (node: ts.Node, tree: ts.SourceFile): boolean =>
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      names.includes(node.expression.name.text) &&
      !/(^process\.std(out|err)|\bsink|\bupload)\.write$/.test(node.expression.getText(tree));
  const streams = 'src/http/streams/';
  // None of these has ever seen a response.
  const blind = /^src\/(base\/(disk|store)|console|engine|farm\/computes|files\/transfer|run|snapshots)\//;
  const others = src.filter(({ path }) => !blind.test(path));
  t.same(unique(places(others, isCallOfOne('write', 'tryEnd'))), [
    `${streams}chunk-writer.ts`,
    `${streams}chunked-response.ts`,
    `${streams}sized-response.ts`,
    `${streams}tail-response.ts`,
  ]);
  // A file that has a stream of that folder may hold it back; one that has none would hold back the response itself.
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
  const isKebab = /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|contract|bench|d))?\.tsx?$/;
  for (const { path } of all) {
    if (empty.test(path)) t.fail(`${path} says nothing`);
    if (!isKebab.test(path.split('/').at(-1) ?? '')) t.fail(`${path} is not in kebab case`);
  }
  for (const { path } of workers) t.match(path, /-worker\.ts$/);
  t.ok(all.length > 100);
  t.end();
});

/** Names of limits by the clock. */
const LIMIT_NAME = /^timeout$|(LIMIT|WAIT|TIMEOUT|DEADLINE)_MS$|deadline|giveUp/;

/** The node that says how long a limit is, if this node sets one. */
function limitOf(node: ts.Node, tree: ts.SourceFile): ts.Node | undefined {
  if (ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node))
    return LIMIT_NAME.test(node.name.getText(tree)) ? node.initializer : undefined;
  const isTimeout =
    ts.isCallExpression(node) && /\.(setTimeout|timeout)$/.test(node.expression.getText(tree));
  return isTimeout ? node.arguments[0] : undefined;
}

/** Whether a number stands in it that `patience` is not given. */
function hasBareNumber(node: ts.Node, tree: ts.SourceFile): boolean {
  if (ts.isNumericLiteral(node)) return true;
  if (isCallOf(node, tree, 'patience')) return false;
  return node.forEachChild((child) => hasBareNumber(child, tree) || undefined) === true;
}

void t.test('one variable stretches every limit by the clock that a test has', (t) => {
  const isFixed = (node: ts.Node, tree: ts.SourceFile): boolean => {
    const limit = limitOf(node, tree);
    return limit !== undefined && hasBareNumber(limit, tree);
  };
  const found = (text: string): number => {
    const tree = ts.createSourceFile('limits.ts', text, ts.ScriptTarget.ES2022, false);
    return places([{ ...readSource('test/support/patience.ts'), tree }], isFixed).length;
  };
  for (const fixed of [
    'test({ timeout: 60_000 })',
    'const LIMIT_MS = 5 * 1000',
    'const deadline = Date.now() + 9',
    'AbortSignal.timeout(1000)',
    't.setTimeout(7)',
  ])
    t.equal(found(fixed), 1, fixed);
  for (const stretched of ['test({ timeout: patience(9) })', 'const giveUpAt = performance.now() + LIMIT_MS'])
    t.equal(found(stretched), 0, stretched);
  t.same(unique(places(tests, isFixed)), []);
  const isReading = (node: ts.Node, tree: ts.SourceFile): boolean =>
    ts.isElementAccessExpression(node) && node.getText(tree) === "process.env['WIREFARM_TEST_PATIENCE']";
  t.same(places(tests, isReading), ['test/support/patience.ts']);
  t.end();
});

/** A sentence that begins so has no subject before its relative clause. */
const RIDDLE =
  /^(what|of|whoever|who|whom|whose|told|that|those|ones? (that|who|of|which)|the ones? (that|who|of|which))\b/i;

/** The beginnings of the comments, and the titles of the tests. */
function sentencesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  const comments = lines.flatMap((line, index) => {
    if (line === '/**') return [(lines[index + 1] ?? '').replace(/^\* /, '')];
    if (line.startsWith('/** ')) return [line.slice('/** '.length)];
    const goesOn = lines[index - 1]?.startsWith('//') === true;
    return line.startsWith('// ') && !goesOn ? [line.slice('// '.length)] : [];
  });
  const titles = [...text.matchAll(/\btest\(\s*['`"]([^'`"]*)/g)].map(([, title = '']) => title);
  return [...comments, ...titles];
}

void t.test('comments and titles of tests begin with their subject', (t) => {
  t.same(sentencesOf("/** A */\n/**\n * B\n */\n// C\n// D\nvoid t.test('e', () => {\n"), [
    'A */',
    'B',
    'C',
    'e',
  ]);
  for (const { path, text } of [...all, ...scripts]) {
    for (const sentence of sentencesOf(text)) if (RIDDLE.test(sentence)) t.fail(`${path}: ${sentence}`);
  }
  t.ok(scripts.length > 3);
  t.end();
});

/** Words that mean one thing, and the areas that own them: names elsewhere do without. */
const OWNED_WORDS: Readonly<Record<string, readonly string[]>> = {
  domain: ['farm'],
  exchange: ['http'],
  farm: ['farm'],
  lease: ['farm'],
  manifest: ['snapshots', 'operations'],
};

interface Named {
  readonly path: string;
  readonly name: string;
}

/** Classes, interfaces and types that other files may import. */
function exportedTypes(files: readonly SourceFile[]): Named[] {
  return files.flatMap(({ path, tree }) =>
    tree.statements.flatMap((statement) => {
      const isType =
        ts.isClassDeclaration(statement) ||
        ts.isInterfaceDeclaration(statement) ||
        ts.isTypeAliasDeclaration(statement);
      if (!isType || statement.name === undefined) return [];
      const isExported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
      return isExported === true ? [{ path, name: statement.name.text }] : [];
    }),
  );
}

void t.test('no two files export a type of one name, and words with an owner stay with it', (t) => {
  const byName = new Map<string, string>();
  for (const { path, name } of exportedTypes(src)) {
    const other = byName.get(name);
    if (other !== undefined) t.fail(`${name} is exported by ${other} and ${path}`);
    byName.set(name, path);
  }
  const names = [
    ...exportedTypes(src),
    ...src.map(({ path }) => ({ path, name: path.split('/').at(-1) ?? '' })),
  ];
  for (const { path, name } of names) {
    for (const [word, owners] of Object.entries(OWNED_WORDS)) {
      if (name.toLowerCase().includes(word) && !owners.includes(areaOf(path)))
        t.fail(`${path}: ${name} has the word ${word} of ${owners.join(' and ')}`);
    }
  }
  t.pass(`${byName.size} types`);
  t.end();
});

void t.test('exported names are those that another file imports', (t) => {
  const imported = new Set(all.flatMap(importedNames));
  const unused = src
    .filter(({ path }) => !imported.has(`${path} *`))
    .flatMap(({ path, tree }) => exportedNames(tree).map((name) => `${path} ${name}`))
    .filter((name) => !imported.has(name));
  t.same(unused, []);
  t.end();
});

/** Each as `path name`; `path *` where all of a file is imported. */
function importedNames({ path, tree }: SourceFile): string[] {
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    const from = importedFrom(node);
    if (from === undefined || !ts.isStringLiteral(from)) return;
    const file = sourceOf(join(dirname(path), from.text));
    const named = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : undefined;
    const names =
      named !== undefined && ts.isNamedImports(named)
        ? named.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
        : ['*'];
    found.push(...names.map((name) => `${file} ${name}`));
  };
  if (hasInnerImport(tree)) visit(tree, look);
  else tree.statements.forEach(look);
  return found;
}

/** The file that this node imports from, if it is an import: a statement, of a type, or of a part that is loaded later. */
function importedFrom(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node))
    return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
  const isImport = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  return isImport ? node.arguments[0] : undefined;
}

function exportedNames(tree: ts.SourceFile): string[] {
  return tree.statements.flatMap((statement) => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => name.getText(tree));
    const isDeclared =
      ts.isFunctionDeclaration(statement) ||
      ts.isClassDeclaration(statement) ||
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement);
    return isDeclared && statement.name !== undefined ? [statement.name.text] : [];
  });
}

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
  const assertions = places([...src, ...workers], (node, tree) => {
    return ts.isAsExpression(node) && node.type.getText(tree) !== 'const';
  });
  t.comment(`${assertions.length} type assertions in src and workers`);
  t.same(places([...src, ...workers], ts.isNonNullExpression), []);
  t.end();
});

/** Areas whose every file is used by tests themselves, and not by the server alone that they start. */
const UNIT_TESTED = ['base', 'engine', 'dissection'];

void t.test('every file of the lowest areas is loaded by a test of its own', (t) => {
  const loaded = new Set([...tests, ...workers].flatMap(({ path }) => loadedBy(path)));
  for (const file of src.filter(({ path }) => UNIT_TESTED.includes(areaOf(path)))) {
    if (!loaded.has(file) && !isTypesOnly(file)) t.fail(`no test loads ${file.path}`);
  }
  t.pass();
  t.end();
});

void t.test('every folder is named in ARCHITECTURE.md', (t) => {
  const text = readFileSync(resolve(ROOT, 'ARCHITECTURE.md'), 'utf8');
  for (const folder of unique(src.map(({ path }) => dirname(path)))) {
    const name = folder.replace(/^src\//, '');
    t.match(text, new RegExp(`[\`/]${name}[\`/]`), `${folder} is named`);
  }
  t.end();
});
