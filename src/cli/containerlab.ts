/**
 * Labs of containerlab as lab files: nodes with images become containers, bridges become switches, and other kinds what the
 * reader says. Whatever has no counterpart is listed, and never passed over in silence. Pure.
 */
import { isRecord } from './server.js';

type Json = Readonly<Record<string, unknown>>;
type Path = readonly (string | number)[];

/** A part of a lab that has no counterpart. */
interface Unmapped {
  readonly path: Path;
  readonly reason: string;
}

interface MappedLab {
  readonly value: Record<string, unknown>;
  readonly unmapped: readonly Unmapped[];
}

const STARTUP = 'startup-config';
const BRIDGES = ['bridge', 'ovs-bridge'];
const ALWAYS_READ = ['kind', 'group'];
/** Keys of nodes that containers take over. */
const OF_CONTAINERS = ['image', 'env', 'cmd', 'entrypoint', 'binds', STARTUP];
/** The files in which containers of these kinds look for their configuration. */
const STARTUP_FILES: Readonly<Record<string, string>> = {
  ceos: '/mnt/flash/startup-config',
  arista_ceos: '/mnt/flash/startup-config',
};
/** Maps that are put together from defaults, kind, group and node. */
const MERGED = ['env', 'labels', 'sysctls'];
const MOST_SWITCH_PORTS = 256;
const NOT_NEAR = 'only files below the folder of the lab are taken';
const LABELS_AT = ['graph-posX', 'graph-posY'];

/** Whether a file is one of containerlab: its nodes and links are below `topology`. */
export function isContainerlab(value: Json): boolean {
  return isRecord(value['topology']) && !('nodes' in value) && !('kinds' in value);
}

interface Surroundings {
  /** Nodes of a lab file, such as templates, by the kinds that become them; `startup-config` is the place of that file. */
  readonly kinds: Json;
  /** Whether a path, relative to the lab, is one of a folder. */
  readonly isFolder: (path: string) => boolean;
}

export function mappedLab(given: Json, surroundings: Surroundings): MappedLab {
  return new Mapping(given, surroundings).lab();
}

class Mapping {
  readonly #given: Json;
  readonly #kinds: Json;
  readonly #isFolder: Surroundings['isFolder'];
  readonly #topology: Json;
  readonly #unmapped: Unmapped[] = [];
  readonly #nodes = new Map<string, Record<string, unknown>>();
  /** The interfaces of nodes that are linked, in the order of links; each is a port. */
  readonly #ports = new Map<string, string[]>();

  constructor(given: Json, { kinds, isFolder }: Surroundings) {
    this.#given = given;
    this.#kinds = kinds;
    this.#isFolder = isFolder;
    this.#topology = record(given['topology']);
  }

  lab(): MappedLab {
    for (const key of Object.keys(this.#given))
      if (!['name', 'topology'].includes(key)) this.#note([key], 'it has no counterpart');
    for (const key of Object.keys(this.#topology))
      if (!['defaults', 'kinds', 'groups', 'nodes', 'links'].includes(key))
        this.#note(['topology', key], 'it has no counterpart');
    for (const name of Object.keys(record(this.#topology['nodes']))) this.#node(name);
    const links = list(this.#topology['links']).flatMap((link, index) => this.#link(link, index));
    for (const [name, node] of this.#nodes) this.#count(name, node);
    const value = { name: this.#given['name'], nodes: Object.fromEntries(this.#nodes), links };
    return { value, unmapped: this.#unmapped };
  }

  #node(name: string): void {
    const path = ['topology', 'nodes', name];
    const own = record(record(this.#topology['nodes'])[name]);
    const settings = this.#settingsOf(own);
    const kind = text(settings['kind']) ?? 'linux';
    const image = text(settings['image']);
    const wanted = this.#kinds[kind];
    const at = placeOf(settings);
    const put = (node: Json): void => {
      this.#nodes.set(name, { ...node, ...(at === undefined ? {} : { at }) });
    };
    if (isRecord(wanted)) {
      const { [STARTUP]: place, ...node } = wanted;
      const files = { ...record(node['files']), ...this.#startupFile(path, settings, text(place)) };
      put({ ...node, ...(Object.keys(files).length === 0 ? {} : { files }) });
      this.#noteOthers(path, settings, [STARTUP]);
    } else if (BRIDGES.includes(kind)) {
      put({ kind: 'ethernet_switch' });
      this.#noteOthers(path, settings, []);
    } else if (image !== undefined) {
      const startup = this.#startupFile(path, settings, STARTUP_FILES[kind]);
      const { files, folders } = this.#bound(path, settings['binds']);
      for (const place of Object.keys(startup)) folders.add(`/${place.slice(0, place.lastIndexOf('/'))}`);
      const all = { ...startup, ...files };
      const kept = folders.size === 0 ? {} : { extra_volumes: [...folders] };
      put({
        ...{ kind: 'docker', properties: { ...containerOf(image, settings), ...kept }, start: true },
        ...(Object.keys(all).length === 0 ? {} : { files: all }),
      });
      this.#noteOthers(path, settings, OF_CONTAINERS);
    } else {
      this.#note(
        path,
        `nodes of the kind ${kind} without an image need a line in --kinds: it is left out, with its links`,
      );
    }
  }

  /** The settings of a node over those of its group, its kind and the defaults. */
  #settingsOf(own: Json): Json {
    const { groups, kinds, defaults } = this.#topology;
    const usual = record(defaults);
    const group = record(record(groups)[text(own['group']) ?? text(usual['group']) ?? '']);
    const name = text(own['kind']) ?? text(group['kind']) ?? text(usual['kind']) ?? '';
    const merged: Record<string, unknown> = {};
    for (const layer of [usual, record(record(kinds)[name]), group, own]) {
      for (const [key, value] of Object.entries(layer))
        merged[key] = MERGED.includes(key) ? { ...record(merged[key]), ...record(value) } : value;
    }
    return merged;
  }

  /** The file of the startup configuration, as files of a node. */
  #startupFile(path: Path, settings: Json, place: string | undefined): Json {
    const given = text(settings[STARTUP]);
    if (given === undefined) return {};
    const isText = given.includes('\n');
    if (place === undefined)
      this.#note([...path, STARTUP], `its place in the node is not known: say it as ${STARTUP} in --kinds`);
    else if (!isText && !isNear(given)) this.#note([...path, STARTUP], NOT_NEAR);
    else return { [place.replace(/^\/+/, '')]: isText ? { text: given } : given };
    return {};
  }

  /** The files of a container that it gets by its binds, and the folders that have them. */
  #bound(path: Path, binds: unknown): { readonly files: Json; readonly folders: Set<string> } {
    const files: Record<string, string> = {};
    const folders = new Set<string>();
    for (const [index, bind] of list(binds).entries()) {
      const [from = '', to = ''] = (text(bind) ?? '').split(':');
      const target = to.endsWith('/') ? to.slice(0, -1) : to;
      const isFolder = isNear(from) && this.#isFolder(from);
      const folder = isFolder ? target : target.slice(0, target.lastIndexOf('/'));
      if (!isNear(from)) this.#note([...path, 'binds', index], NOT_NEAR);
      else if (!target.startsWith('/') || folder === '')
        this.#note([...path, 'binds', index], 'its target is no file below a folder of the container');
      else {
        files[target.slice(1)] = from;
        folders.add(folder);
      }
    }
    return { files, folders };
  }

  #noteOthers(path: Path, settings: Json, read: readonly string[]): void {
    for (const key of Object.keys(settings)) {
      const isLabels =
        key === 'labels' && Object.keys(record(settings[key])).every((label) => LABELS_AT.includes(label));
      if (ALWAYS_READ.includes(key) || read.includes(key) || isLabels) continue;
      this.#note([...path, key], 'it has no counterpart');
    }
  }

  #link(given: unknown, index: number): Json[] {
    const path = ['topology', 'links', index];
    const link = record(given);
    for (const key of Object.keys(link))
      if (!['endpoints', 'type'].includes(key)) this.#note([...path, key], 'it has no counterpart');
    const type = text(link['type']) ?? 'veth';
    const ends = list(link['endpoints']).map(endOf);
    const [first, second] = ends;
    if (type !== 'veth' || first === undefined || second === undefined || ends.length !== 2) {
      const reason =
        type === 'veth'
          ? 'this is no link of two ends NODE:INTERFACE'
          : `a link of the type ${type} has no counterpart`;
      this.#note(path, `${reason}: it is left out`);
      return [];
    }
    for (const [side, raw] of list(link['endpoints']).entries())
      for (const key of Object.keys(record(raw)))
        if (!['node', 'interface'].includes(key))
          this.#note([...path, 'endpoints', side, key], 'it has no counterpart');
    const missing = ends.find((end) => end !== undefined && !this.#nodes.has(end.node));
    if (missing !== undefined) {
      this.#note(path, `${missing.node} is no node here: the link is left out`);
      return [];
    }
    return [{ ends: [first, second].map((end) => this.#port(end, path)) }];
  }

  /** The port of an interface, as a lab file writes it. */
  #port({ node, name }: End, path: Path): string {
    const ports = this.#ports.get(node) ?? [];
    this.#ports.set(node, ports);
    if (this.#nodes.get(node)?.['kind'] === 'docker') {
      const number = Number(
        /^eth(\d{1,2})$/.exec(name)?.[1] ?? /(\d{1,2})$/.exec(name)?.[1] ?? ports.length + 1,
      );
      if (!/^eth\d/.test(name))
        this.#note(path, `the interface ${name} of ${node} is called eth${number} in the container`);
      ports.push(String(number));
      return `${node}:${number}/0`;
    }
    ports.push(name);
    return `${node}:0/${ports.length - 1}`;
  }

  /** Gives a node as many ports as its links need. */
  #count(name: string, node: Record<string, unknown>): void {
    const ports = this.#ports.get(name) ?? [];
    if (node['kind'] === 'docker') {
      const adapters = Math.max(0, ...ports.map(Number)) + 1;
      node['properties'] = { ...record(node['properties']), adapters };
    } else if (node['kind'] === 'ethernet_switch' && ports.length > 0) {
      node['ports'] = Math.min(ports.length, MOST_SWITCH_PORTS);
    }
  }

  #note(path: Path, reason: string): void {
    this.#unmapped.push({ path, reason });
  }
}

/** Whether a path leads to something below the folder of the lab: what lies elsewhere on this host is not handed out. */
function isNear(path: string): boolean {
  return path !== '' && !/^[/~]|^\w+:|__/.test(path) && !path.split('/').includes('..');
}

interface End {
  readonly node: string;
  readonly name: string;
}

/** An end is `node:interface`, or a map with both. */
function endOf(given: unknown): End | undefined {
  if (typeof given === 'string') {
    const [node = '', name = '', ...more] = given.split(':');
    return node === '' || name === '' || more.length > 0 ? undefined : { node, name };
  }
  const [node, name] = [text(record(given)['node']), text(record(given)['interface'])];
  return node === undefined || name === undefined ? undefined : { node, name };
}

function containerOf(image: string, { env, cmd, entrypoint }: Json): Json {
  const environment = Object.entries(record(env)).map(([key, value]) => `${key}=${String(value)}`);
  const command = [entrypoint, cmd].flatMap((part) => text(part) ?? []).join(' ');
  return {
    image,
    ...(environment.length === 0 ? {} : { environment: environment.join('\n') }),
    ...(command === '' ? {} : { start_command: command }),
  };
}

/** The place in the drawing that graph tools write as labels. */
function placeOf({ labels }: Json): [number, number] | undefined {
  const [x, y] = LABELS_AT.map((label) => Number(record(labels)[label] ?? NaN));
  return x === undefined || y === undefined || Number.isNaN(x + y)
    ? undefined
    : [Math.round(x), Math.round(y)];
}

function record(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
