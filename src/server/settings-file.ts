/** The file of settings: a line for each, as in `WIREFARM_LOG_LEVEL=debug`, with the names of the environment. */
import { parseEnv } from 'node:util';
import { readLinkedFile } from '../base/disk/linked-file.js';
import { ConfigError } from './config-error.js';
import { OPTION_LIST, variableOf } from './settings.js';

export const LARGEST_SETTINGS_FILE = 64 * 1024;
/** The file cannot name another one. */
const OF_THE_FILE = OPTION_LIST.map(({ name }) => name).filter((name) => name !== 'config');
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/;

/** The text of a setting, and the line that has it. */
interface WrittenSetting {
  readonly text: string;
  readonly line: number;
}

/** The settings of a file, by their names. */
type WrittenSettings = ReadonlyMap<string, WrittenSetting>;

/** Reads the file. Throws ConfigError. For the start of the server, which has no threads yet. */
export function settingsTextOf(path: string): string {
  try {
    return readLinkedFile(path, LARGEST_SETTINGS_FILE).text;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(unreadable(path, reason), { cause: error });
  }
}

export function unreadable(path: string, reason: string): string {
  return `--config (WIREFARM_CONFIG): ${path} cannot be read (${reason})`;
}

/** Throws ConfigError for the first line that is no setting. */
export function parseSettings(path: string, text: string): WrittenSettings {
  const written = new Map<string, WrittenSetting>();
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(row)) continue;
    const line = index + 1;
    const refuse = (message: string): never => {
      throw new ConfigError(`${path}:${line}: ${message}`);
    };
    const [variable, value] = settingOf(row) ?? refuse('this is no line like WIREFARM_LOG_LEVEL=debug');
    const name = OF_THE_FILE.find((known) => variableOf(known) === variable);
    if (name === undefined) return refuse(`${variable} is no setting of a file`);
    const earlier = written.get(name);
    if (earlier !== undefined) refuse(`${variable} stands in line ${earlier.line} already`);
    written.set(name, { text: value, line });
  }
  return written;
}

/** The name and the value of a line. A quotation mark that is not closed would reach into the next lines. */
function settingOf(row: string): [variable: string, value: string] | undefined {
  if (CONTROL.test(row)) return undefined;
  const [entry, ...more] = Object.entries(parseEnv(row));
  if (entry === undefined || more.length > 0) return undefined;
  const [variable, value = ''] = entry;
  return /^\w+$/.test(variable) && !/^["'`]/.test(value) ? [variable, value] : undefined;
}
