/**
 * The address of the server, the user, and the certificate that is trusted. `--url` and `--ca` win over WIREFARM_URL and
 * WIREFARM_CA; passwords are not taken from command lines.
 */
import { readFileSync } from 'node:fs';
import { UsageError } from './command-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ServerAddress {
  readonly url: URL;
  /** The value of the header Authorization. */
  readonly authorization: string | undefined;
  /** The certificates of authorities that are trusted (PEM); undefined for those of Node.js. */
  readonly ca: string | undefined;
}

const DEFAULT_URL = 'http://127.0.0.1:3080';

export function serverAddress(
  flag: string | undefined,
  environment: Environment,
  ca = environment['WIREFARM_CA'] ?? '',
): ServerAddress {
  const user = environment['WIREFARM_USER'] ?? '';
  const password = environment['WIREFARM_PASSWORD'] ?? '';
  const token = Buffer.from(`${user}:${password}`).toString('base64');
  return {
    url: serverUrl(givenUrl(flag, environment) ?? DEFAULT_URL),
    // A server has its password in a file where this one is empty, and nobody signs in without one.
    authorization: user === '' || password === '' ? undefined : `Basic ${token}`,
    ca: ca === '' ? undefined : textOf(ca),
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`the certificate of --ca cannot be read (${reason})`, { cause: error });
  }
}

/** The address that the user has given, if any. */
export function givenUrl(flag: string | undefined, environment: Environment): string | undefined {
  const given = flag ?? environment['WIREFARM_URL'] ?? '';
  return given === '' ? undefined : given;
}

/** Throws UsageError. */
export function serverUrl(given: string): URL {
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new UsageError(`'${given}' is no address of a server: it looks like ${DEFAULT_URL}`);
  }
  const url = new URL(given);
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('no password in the address: set WIREFARM_USER and WIREFARM_PASSWORD');
  }
  return url;
}
