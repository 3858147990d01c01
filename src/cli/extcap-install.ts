/**
 * Installs a script in the folder where Wireshark looks for extcap programs. Wireshark asks for the options and the link
 * types of every interface whenever it starts, and tshark even to read a file. The script answers these itself, as they
 * are the same for all interfaces: a process of Node.js for each would take minutes.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandError } from './command-error.js';
import { CONFIG_SENTENCES, DLT_SENTENCES } from './extcap-sentences.js';
import { givenUrl, serverUrl, type Environment } from './server-address.js';

/** Through the link `dist`, because the folder behind it is deleted by a later build. */
const PROGRAM = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));
const NAME = 'wirefarm';
const PATIENCE_MS = 10_000;

/** Returns lines for the user. */
export function install(
  folder: string | undefined,
  url: string | undefined,
  environment: Environment,
): string[] {
  if (process.platform === 'win32') {
    throw new CommandError('Wireshark on Windows takes no scripts: capture from Linux, WSL or macOS');
  }
  const given = givenUrl(url, environment);
  const origin = given === undefined ? undefined : serverUrl(given).href;
  const into = resolve(folder ?? extcapFolder());
  const path = join(into, NAME);
  try {
    mkdirSync(into, { recursive: true });
    writeFileSync(path, script(origin));
    chmodSync(path, 0o755);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`cannot write ${path} (${reason}): choose a folder with --folder`, {
      cause: error,
    });
  }
  return [
    `Wrote ${path}${origin === undefined ? '' : ` for ${origin}`}.`,
    'The links of open projects are in the list of interfaces when Wireshark is started anew (F5 reads it again).',
  ];
}

/** Asks tshark, because Wireshark 4.2 moved the folder; without an answer, the folder since 4.2. */
function extcapFolder(): string {
  const folders = tsharkFolders();
  const told = /^Personal Extcap path:\s*(\S.*)$/im.exec(folders)?.[1];
  if (told !== undefined) return told;
  const settings = /^Personal configuration:\s*(\S.*)$/im.exec(folders)?.[1];
  return settings === undefined ? join(homedir(), '.local/lib/wireshark/extcap') : join(settings, 'extcap');
}

function tsharkFolders(): string {
  try {
    return execFileSync('tshark', ['-G', 'folders'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: PATIENCE_MS,
    });
  } catch {
    return '';
  }
}

function script(origin: string | undefined): string {
  const known =
    origin === undefined ? [] : [`[ -n "$WIREFARM_URL" ] || export WIREFARM_URL=${quoted(origin)}`];
  return [
    '#!/bin/sh',
    '# Written by: wirefarm extcap --install',
    'for argument; do',
    '  case $argument in',
    `  --extcap-config) ${printing(CONFIG_SENTENCES)}; exit ;;`,
    `  --extcap-dlts) ${printing(DLT_SENTENCES)}; exit ;;`,
    '  esac',
    'done',
    ...known,
    `exec ${quoted(process.execPath)} ${quoted(PROGRAM)} extcap "$@"`,
    '',
  ].join('\n');
}

function printing(sentences: readonly string[]): string {
  return ["printf '%s\\n'", ...sentences.map(quoted)].join(' ');
}

/** Quotes any text as one word for the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
