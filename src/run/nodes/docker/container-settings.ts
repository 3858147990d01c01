/** The settings of a new container: pure rules over its node and its image. */
import { isIP } from 'node:net';
import { posix } from 'node:path';
import { z } from 'zod';
import { refusals } from '../../../base/errors/errors.js';
import type { Properties } from '../../../lab/kinds/node-kind.js';
import { MARK_VARIABLE } from '../../keeper/messages.js';

const words = z
  .array(z.string())
  .nullish()
  .transform((list) => list ?? []);

/** The part of an image's description that is used. */
export const imageDescription = z
  .object({
    Config: z
      .object({
        Cmd: words,
        Entrypoint: words,
        User: z.string().nullish(),
        Volumes: z.record(z.string(), z.unknown()).nullish(),
      })
      .nullish(),
  })
  .transform(({ Config: config }) => ({
    command: config?.Cmd ?? [],
    entrypoint: config?.Entrypoint ?? [],
    user: config?.User ?? '',
    volumes: Object.keys(config?.Volumes ?? {}),
  }));
export type ImageDescription = z.infer<typeof imageDescription>;

/** The labels by which containers are found: the server that has made them, and their node. */
export const LABELS = { server: 'wirefarm.server', node: 'wirefarm.node' } as const;
/** The folders of a container in which this server's own files and the persistent folders of the node appear. */
const RESOURCES = '/gns3';
const VOLUMES = '/gns3volumes';
const SHELL = [`${RESOURCES}/busybox`, 'sh'] as const;
/** It makes a container ready and becomes its command. */
export const FIRST_SCRIPT = `${RESOURCES}/init.sh`;
/** Where programs look for displays. */
const X_SOCKETS = '/tmp/.X11-unix';
const ALWAYS_KEPT = '/etc/network';
const RESERVED = /^(GNS3_|WIREFARM_)/;
const LONGEST_HOST_NAME = 63;
const LONGEST_NAME = 100;
const FEWER_CAPABILITIES = ['MKNOD', 'NET_ADMIN', 'NET_RAW', 'SYS_ADMIN'];

export type Privileges = 'all' | 'fewer';

interface ContainerNode {
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly projectFolder: string;
  readonly consolePort: number | null;
  readonly properties: Properties;
  readonly adapters: number;
}

interface ContainerPlace {
  /** Tells the containers of this server from those of others. */
  readonly mark: string;
  /** The folder of this server's own files for containers. */
  readonly resources: string;
  /** The folders on this host of the persistent folders, in their order. */
  readonly sources: readonly string[];
  readonly privileges: Privileges;
  /** The folder on this host with the X socket of the container's display, which is display 0. */
  readonly display?: string | undefined;
}

/** The name of a container, which people read in the lists of the engine. */
export function containerName({ id, name }: Pick<ContainerNode, 'id' | 'name'>): string {
  return `GNS3.${name.replaceAll(/[^A-Za-z0-9_.-]/g, '-').slice(0, LONGEST_NAME)}.${id}`;
}

/**
 * The folders of a container that outlive it. A folder below another one of them is part of that. Refuses (409) those
 * of the node that cannot be kept; those of the image are left out.
 */
export function persistentPaths({ extra_volumes: extra }: Properties, image: ImageDescription): string[] {
  const own = z.array(z.string()).safeParse(extra).data ?? [];
  const wanted = own.map((path) => {
    const found = persistentPath(path);
    if (found !== undefined) return found;
    throw refusals.propertyConflict(
      `Persistent volume '${path}' cannot be kept: it must be a path below '/' without '..' and colons`,
    );
  });
  const ofImage = image.volumes.flatMap((path) => persistentPath(path) ?? []);
  const all = [...new Set([ALWAYS_KEPT, ...ofImage, ...wanted])].sort();
  return all.filter((path) => !all.some((other) => path.startsWith(`${other}/`)));
}

function persistentPath(path: string): string | undefined {
  // Colons part the paths for the script that mounts them, one a line.
  if (!path.startsWith('/') || /[:\0\r\n]/.test(path) || path.split('/').includes('..')) return undefined;
  const normal = posix.normalize(path).replace(/\/$/, '');
  const isTaken = ['', '/dev', '/proc', '/sys', X_SOCKETS, RESOURCES, VOLUMES].some(
    (taken) => normal === taken || (taken !== '' && normal.startsWith(`${taken}/`)),
  );
  return isTaken ? undefined : normal;
}

/** The body of the request for a new container. */
export function containerSettings(
  node: ContainerNode,
  image: ImageDescription,
  paths: readonly string[],
  { mark, resources, sources, privileges, display }: ContainerPlace,
): object {
  const { properties } = node;
  const own = splitWords(textOf(properties['start_command']));
  const given = own.length > 0 ? own : image.command;
  const mounts = paths.map((path, index) => ({
    ...{ Type: 'bind', Source: sources[index] ?? '', Target: `${VOLUMES}${path}` },
  }));
  const rights =
    privileges === 'all'
      ? { Privileged: true, CapAdd: ['ALL'] }
      : { CapAdd: FEWER_CAPABILITIES, SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined'] };
  return {
    Hostname: hostName(node.name),
    Image: textOf(properties['image']),
    ...{ Tty: true, OpenStdin: true, StdinOnce: false, NetworkDisabled: true, User: 'root' },
    Entrypoint: [...SHELL, FIRST_SCRIPT, ...image.entrypoint],
    Cmd: given.length > 0 || image.entrypoint.length > 0 ? given : ['/bin/sh'],
    Env: [
      'container=docker',
      `GNS3_MAX_ETHERNET=${node.adapters === 0 ? 'lo' : `eth${node.adapters - 1}`}`,
      `GNS3_VOLUMES=${paths.join(':')}`,
      `GNS3_USER=${image.user}`,
      `GNS3_EXTRA_HOSTS=${extraHosts(textOf(properties['extra_hosts']))}`,
      ...(display === undefined ? [] : ['DISPLAY=:0']),
      ...environmentOf(node),
      // Processes that have this in their environment end with the keeper of the programs.
      `${MARK_VARIABLE}=${mark}/${node.id}`,
    ],
    HostConfig: {
      ...{ NetworkMode: 'none', UsernsMode: 'host', ...rights },
      Mounts: [
        { Type: 'bind', Source: resources, Target: RESOURCES, ReadOnly: true },
        ...(display === undefined
          ? []
          : [{ Type: 'bind', Source: display, Target: X_SOCKETS, ReadOnly: true }]),
        ...mounts,
      ],
    },
    Labels: { [LABELS.server]: mark, [LABELS.node]: node.id },
  };
}

/** The command of the auxiliary console: a shell, and another one when it ends. */
export function auxiliaryCommand(): string[] {
  const busybox = `${RESOURCES}/busybox`;
  return [...SHELL, '-c', `while :; do TERM=vt100 ${busybox} sh -i; ${busybox} sleep 1; done`];
}

/** The command that notes the owners of the persistent files and gives the files to the user of this server. */
export function savingCommand(user: number, group: number): string[] {
  return [...SHELL, `${RESOURCES}/save.sh`, String(user), String(group)];
}

function environmentOf(node: ContainerNode): string[] {
  const values: Readonly<Record<string, string>> = {
    '%vm-name%': node.name,
    '%vm-id%': node.id,
    '%project-id%': node.projectId,
    '%project-path%': node.projectFolder,
    '%console-port%': String(node.consolePort ?? ''),
  };
  return textOf(node.properties['environment'])
    .split('\n')
    .map((line) => line.replaceAll('\0', '').trim())
    .filter((line) => /^[^=]/.test(line) && !RESERVED.test(line))
    .map((line) => line.replaceAll(/%[a-z-]{1,20}%/g, (word) => values[word] ?? word));
}

/** Lines of `name:address` become lines of /etc/hosts. */
function extraHosts(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [name = ''] = line.split(':', 1);
      const address = line.slice(name.length + 1).trim();
      if (/^[A-Za-z0-9_.-]{1,253}$/.test(name) && isIP(address) !== 0) return `${address}\t${name}`;
      throw refusals.propertyConflict(`The extra host '${line}' is none: lines are like 'name:192.0.2.1'`);
    })
    .join('\n');
}

function hostName(name: string): string {
  const text = name.replaceAll(/[^A-Za-z0-9-]/g, '-').slice(0, LONGEST_HOST_NAME);
  return text.replace(/^-+/, '').replace(/-$/, '') || 'container';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Splits a command as a shell does, but expands nothing. */
export function splitWords(text: string): string[] {
  const found: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (quote !== '' && character === quote) quote = '';
    else if (quote === '' && (character === "'" || character === '"')) {
      quote = character;
      word ??= '';
    } else if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) found.push(word);
      word = undefined;
    } else if (character === '\\' && quote !== "'" && at + 1 < text.length) {
      const next = text.charAt(++at);
      word = (word ?? '') + (quote === '"' && !/["\\$`]/.test(next) ? `\\${next}` : next);
    } else word = (word ?? '') + character;
  }
  if (quote !== '') throw refusals.propertyConflict('The start command has a quotation mark without its end');
  if (word !== undefined) found.push(word);
  return found;
}
