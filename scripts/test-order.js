/** Decides which test files run as one process, and in which order. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** How a compiled file shows that it starts servers, and that it starts a browser, which takes both cores for itself. */
const SERVER = /\b(?:startServer|FaultServer|StreamServer|Program|spawn)\b|support\/cli/;
const BROWSER = /support\/(?:console\/|browser)/;
/**
 * How a compiled file, or one that it imports, shows that it needs a process of its own: it starts others, changes what
 * all files of a process share, or looks at what files before it may have left. A fuzzer is known by the rounds that its file tells: it measures the
 * processor time of its process.
 */
const ALONE =
  /child_process|worker_threads|playwright|syncBuiltinESM|globalThis|\bgc\b|lookAtStreams|\/proc\/self\/fd["']|process\.(?:exit|on|once|kill|chdir|umask|emit|std|env\S* = )/;
/** A program that is waited for in one step has ended before the next file. */
const WAITED_FOR =
  /^import \{ (?:execFileSync|spawnSync)(?:, (?:execFileSync|spawnSync))* \} from "node:child_process";$/gm;
/** Starts the server of a test, or `wirefarm`, or asks it, and changes nothing for the other files of the process. */
const SERVER_SUPPORT =
  /support\/(?:cli|client|server-process|watched-server|turn-watch|turn-watch-worker)\.js$/;
const RELATIVE = /["'](\.{1,2}\/[^"']+\.js)["']/g;
/** So many files share a process at most, and so many that start servers, so that at the end no core waits long. */
const FILES_OF_A_PROCESS = 12;
const SERVERS_OF_A_PROCESS = 4;

const texts = new Map();

function textOf(file) {
  const known = texts.get(file);
  if (known !== undefined) return known;
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  texts.set(file, text);
  return text;
}

/** The file and the tests' files that it leads to. */
function withImported(file, found = new Set()) {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, place] of textOf(file).matchAll(RELATIVE)) {
    const imported = join(file, '..', place);
    if (imported.startsWith('dist/test/') && !SERVER_SUPPORT.test(imported)) withImported(imported, found);
  }
  return found;
}

function needsProcess(file) {
  return [...withImported(file)].some((each) => ALONE.test(textOf(each).replace(WAITED_FOR, '')));
}

function weighed(files) {
  const text = files.map(textOf).join('');
  return { files, hasBrowser: BROWSER.test(text), hasServer: SERVER.test(text), size: text.length };
}

function parts(files, length) {
  return files.flatMap((_, at) => (at % length === 0 ? [files.slice(at, at + length)] : []));
}

/** Each file by itself, in the order in which they are given. */
export function inTurn(files) {
  return files.map((file) => weighed([file]));
}

/**
 * Neighbours that need no process of their own share one, which saves its start and that of the library of assertions.
 * What starts servers comes first, the larger before the smaller: at the end all are short, and no core waits.
 */
export function inOrder(files) {
  const alone = files.filter(needsProcess);
  const others = files.filter((file) => !alone.includes(file));
  const withServer = others.filter((file) => SERVER.test(textOf(file)));
  const shared = [
    ...parts(withServer, SERVERS_OF_A_PROCESS),
    ...parts(
      others.filter((file) => !withServer.includes(file)),
      FILES_OF_A_PROCESS,
    ),
  ];
  return [...inTurn(alone), ...shared.map(weighed)].sort(
    (a, b) => Number(b.hasServer) - Number(a.hasServer) || b.size - a.size,
  );
}
