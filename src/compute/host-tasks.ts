/** What has to be looked up on the disk of this host for attachments. Runs in a worker thread. */
import { readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { Refusal, refusals } from '../errors.js';
import type { TaskTable } from '../pool/task.js';
import { containedPath } from '../storage/containment.js';

export interface HostInterface {
  readonly name: string;
  readonly isUp: boolean;
  readonly mac: string;
  /** The first IPv4 address and its mask; empty without one. */
  readonly address: string;
  readonly netmask: string;
}

export interface HostTasks extends TaskTable {
  /** By name. */
  readonly findInterfaces: (input: undefined) => HostInterface[];
  /** The real path of a socket's file, which must lie in the folder or in the host's folder for temporary files. */
  readonly placeSocketFile: (input: { folder: string; path: string }) => string;
}

/** Where Linux shows its interfaces, also those that have no address. */
const SYSTEM_FOLDER = '/sys/class/net';
const UP = 1;

export const hostTasks: HostTasks = {
  findInterfaces() {
    const addressed = networkInterfaces();
    const names = new Set([...Object.keys(addressed), ...systemNames()]);
    return [...names].sort().map((name) => {
      const addresses = addressed[name] ?? [];
      const first = addresses.find(({ family }) => family === 'IPv4');
      return {
        name,
        isUp: isUp(name) ?? addresses.length > 0,
        mac: systemText(name, 'address') ?? addresses[0]?.mac ?? '',
        address: first?.address ?? '',
        netmask: first?.netmask ?? '',
      };
    });
  },

  placeSocketFile({ folder, path }) {
    for (const root of isAbsolute(path) ? [folder, tmpdir()] : [folder]) {
      try {
        return containedPath(root, path);
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== 403) throw error;
      }
    }
    throw refusals.fileForbidden();
  },
};

function systemNames(): string[] {
  try {
    // The kernel keeps files there, too.
    return readdirSync(SYSTEM_FOLDER).filter((name) => systemText(name, 'flags') !== undefined);
  } catch {
    return [];
  }
}

function systemText(name: string, file: string): string | undefined {
  try {
    return readFileSync(join(SYSTEM_FOLDER, name, file), 'utf8').trim();
  } catch {
    return undefined;
  }
}

function isUp(name: string): boolean | undefined {
  const flags = systemText(name, 'flags');
  return flags === undefined ? undefined : (Number(flags) & UP) !== 0;
}
