/** By what the etcd of a farm lets this server in: TLS, and a user. */
import { open, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { LONGEST_SECRET, secretOf } from '../base/disk/secret-file.js';
import type { EtcdAccess } from '../base/store/etcd/etcd-access.js';
import type { EtcdAddress } from '../base/store/etcd/etcd-address.js';
import { ConfigError } from './config-error.js';
import type { Settings } from './settings.js';

/** The paths are undefined where nothing is given. */
export interface EtcdFilePaths {
  readonly authority: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly login: { readonly user: string; readonly passwordFile: string } | undefined;
}

/** Throws ConfigError for settings that do not belong together. */
export function etcdFilePaths(settings: Settings): EtcdFilePaths {
  const pathOf = (name: 'farm-ca' | 'farm-cert' | 'farm-key' | 'farm-password-file'): string | undefined =>
    settings[name] === '' ? undefined : resolve(settings[name]);
  const [authority, certificate, key] = [pathOf('farm-ca'), pathOf('farm-cert'), pathOf('farm-key')];
  const [user, passwordFile] = [settings['farm-user'], pathOf('farm-password-file')];
  if ((certificate === undefined) !== (key === undefined))
    throw new ConfigError('etcd needs both --farm-cert and --farm-key');
  if ((user === '') !== (passwordFile === undefined))
    throw new ConfigError('etcd needs both --farm-user and --farm-password-file');
  if ((authority ?? certificate) !== undefined && settings.farm?.servers[0]?.startsWith('https:') !== true)
    throw new ConfigError('--farm-ca, --farm-cert and --farm-key are for TLS: --farm etcds://…');
  if (user !== '' && settings.farm === undefined) throw new ConfigError('--farm-user needs --farm');
  const login = passwordFile === undefined ? undefined : { user, passwordFile };
  return { authority, certificate, key, login };
}

/** The address with what its files have. Throws ConfigError when one cannot be used. */
export async function withAccess(farm: EtcdAddress, given: EtcdFilePaths): Promise<EtcdAddress> {
  const { login } = given;
  const authority = await contentOf('farm-ca', given.authority);
  const [cert, key] = [
    await contentOf('farm-cert', given.certificate),
    await contentOf('farm-key', given.key),
  ];
  try {
    createSecureContext({ ca: authority, cert, key });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`--farm-ca, --farm-cert and --farm-key are no PEM that fits together (${reason})`, {
      cause: error,
    });
  }
  const access: EtcdAccess = {
    authority,
    pair: cert === undefined || key === undefined ? undefined : { certificate: cert, key },
    login: login && { user: login.user, password: () => passwordIn(login.passwordFile) },
  };
  await access.login?.password();
  return { ...farm, access };
}

async function contentOf(name: string, path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch (error) {
    throw unusable(name, path, error);
  }
}

async function passwordIn(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      // One octet for the end of the line, and one that tells that there is more.
      const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST_SECRET + 2));
      return secretOf(buffer.toString('utf8', 0, bytesRead));
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unusable('farm-password-file', path, error);
  }
}

function unusable(name: string, path: string, error: unknown): ConfigError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ConfigError(`--${name}: ${path} cannot be used (${reason})`, { cause: error });
}
