/** Tasks of a file thread: they look up what this host has: interfaces, programs, places of sockets. */
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { TaskTable } from '../base/threads/task.js';
import { clientPath } from '../base/disk/containment.js';
import { SYSTEM_PATH } from './keeper/program.js';

export interface HostInterface {
  readonly name: string;
  readonly isUp: boolean;
  readonly mac: string;
  /** The first IPv4 address and its mask; empty without one. */
  readonly address: string;
  readonly netmask: string;
  /** The user that a TAP was made for, -1 when there is none; undefined for an interface that is no TAP. */
  readonly tapOwner: number | undefined;
  readonly isBridge: boolean;
}

export interface HostTasks extends TaskTable {
  /** Sorted by name. */
  readonly findInterfaces: (input: undefined) => HostInterface[];
  /** Whether the host has the program where the keeper looks for it. */
  readonly hasProgram: (input: { name: string }) => boolean;
  /** The real path of a socket's file, which must lie in the folder. */
  readonly placeSocketFile: (input: { folder: string; path: string }) => string;
}

/** Linux lists all interfaces here, also those without an address. */
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
        tapOwner: numberOf(systemText(name, 'owner')),
        isBridge: systemText(name, 'bridge/bridge_id') !== undefined,
      };
    });
  },

  hasProgram({ name }) {
    return SYSTEM_PATH.split(':').some((folder) => isExecutable(join(folder, name)));
  },

  placeSocketFile({ folder, path }) {
    return clientPath({ root: folder, path }, 'write');
  },
};

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function systemNames(): string[] {
  try {
    // The folder also has entries that are no interfaces.
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

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}
