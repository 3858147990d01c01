/** `wirefarm tls self-signed`: makes a certificate for a server that has none from an authority. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CommandError, UsageError } from './command-error.js';
import { selfSigned } from './self-signed.js';

const OPTIONS = {
  help: { type: 'boolean' },
  host: { type: 'string', multiple: true },
  out: { type: 'string' },
} as const;

const HELP = [
  'Usage:',
  '  wirefarm tls self-signed --host NAME [--host NAME] --out DIR',
  '      Writes DIR/cert.pem and DIR/key.pem for a server with these names or addresses. Clients trust it when they are',
  '      told to: wirefarm and curl by --ca and --cacert, browsers by an exception.',
  '',
].join('\n');

const CERTIFICATE = 'cert.pem';
const KEY = 'key.pem';
const MOST_NAMES = 64;

export function tls(args: readonly string[]): void {
  const { values, positionals } = parsed(args);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  if (positionals.join(' ') !== 'self-signed') throw new UsageError('say what to do: wirefarm tls --help');
  const { host = [], out } = values;
  const [name, ...others] = host;
  if (name === undefined || out === undefined) {
    throw new UsageError('say --host and --out: wirefarm tls --help');
  }
  const wrong = host.find((given) => !isName(given));
  if (wrong !== undefined) throw new UsageError(`'${wrong}' is no name of a server, and no address`);
  if (host.length > MOST_NAMES) throw new UsageError(`a certificate has at most ${MOST_NAMES} names`);
  write(out, selfSigned([name, ...others], new Date()));
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UsageError(`${line} (wirefarm tls --help)`, { cause: error });
  }
}

function isName(given: string): boolean {
  if (isIP(given) !== 0) return !given.includes('%');
  return given.length <= 253 && /^(\*\.)?[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i.test(given);
}

/** Replaces nothing: a server may use the pair that is there. */
function write(folder: string, { certificate, key }: ReturnType<typeof selfSigned>): void {
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, KEY), key, { flag: 'wx', mode: 0o600 });
    writeFileSync(join(folder, CERTIFICATE), certificate, { flag: 'wx' });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`cannot write to ${folder} (${reason})`, { cause: error });
  }
  process.stdout.write(`Wrote ${join(folder, CERTIFICATE)} and ${join(folder, KEY)}.\n`);
}
