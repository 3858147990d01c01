/** The address of the server and the user. `--url` wins over WIREFARM_URL; passwords are not taken from command lines. */
import { UsageError } from './command-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ServerAddress {
  readonly url: URL;
  /** The value of the header Authorization. */
  readonly authorization: string | undefined;
}

const DEFAULT_URL = 'http://127.0.0.1:3080';

export function serverAddress(flag: string | undefined, environment: Environment): ServerAddress {
  const user = environment['WIREFARM_USER'] ?? '';
  const password = environment['WIREFARM_PASSWORD'] ?? '';
  const token = Buffer.from(`${user}:${password}`).toString('base64');
  return {
    url: serverUrl(givenUrl(flag, environment) ?? DEFAULT_URL),
    authorization: user === '' ? undefined : `Basic ${token}`,
  };
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
