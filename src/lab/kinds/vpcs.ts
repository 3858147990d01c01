/** VPCS, a virtual PC: one Ethernet port. Everything else is in the script that it starts with. */
import { z } from 'zod';
import { contentOfFile } from './fields.js';
import type { ProgramKind } from './node-kind.js';
import { ETHERNET, ETHERNET_CAPTURE, portOfType } from './port-types.js';
import { consoleDefaults, consoleSettings, fileName, templateSettings } from './template.js';

const look = {
  category: 'guest',
  default_name_format: 'PC{0}',
  symbol: ':/symbols/vpcs_guest.svg',
};
/** The file in the folder of a node that it starts with. */
export const STARTUP_SCRIPT = 'startup.vpc';
/** The prompt of a virtual PC of this name. A line break in a name must not begin another command. */
export function promptOf(name: string): string {
  return name.replaceAll(/\s/g, '');
}

/** Numbers below it are of virtual PCs on the host of their controller. */
const FIRST_AMONG_HOSTS = 64;
const MOST = 255;
/**
 * The number of a virtual PC whose controller is on another host. It follows from its id: two hosts that count from 0 would
 * give two PCs of one lab the same MAC address.
 */
export function numberAmongHosts(nodeId: string): number {
  return FIRST_AMONG_HOSTS + (Number.parseInt(nodeId.slice(0, 8), 16) % (MOST - FIRST_AMONG_HOSTS));
}

const BASE_SCRIPT = 'vpcs_base_config.txt';
const CONSOLE_TYPES = ['telnet', 'none'] as const;

export const vpcs: ProgramKind & { readonly type: 'vpcs' } = {
  type: 'vpcs',
  title: 'a virtual PC',
  alwaysRuns: false,
  /** The number of a virtual PC is the last byte of its MAC address. */
  mostInProject: MOST,
  imageProperties: [],
  keepsContentElsewhere: false,
  properties: z.strictObject({}),
  shownProperties: {},
  consoleTypes: CONSOLE_TYPES,
  creation: {
    schema: z.strictObject({ startup_script: contentOfFile }),
    files: { base_script_file: 'startup_script' },
    baseFiles: { [BASE_SCRIPT]: 'set pcname %h\n' },
  },
  template: {
    settings: templateSettings({
      ...consoleSettings(CONSOLE_TYPES),
      base_script_file: fileName.min(1).optional(),
      // The built-in template has its script here.
      properties: z.strictObject({ base_script_file: fileName.min(1).optional() }).optional(),
    }),
    defaults: { ...look, ...consoleDefaults, base_script_file: BASE_SCRIPT },
  },
  builtinTemplate: {
    rank: 3,
    template: {
      template_id: '19021f99-e36f-394d-b4a1-8aaa902ab9cc',
      name: 'VPCS',
      ...look,
      properties: { base_script_file: BASE_SCRIPT },
    },
  },
  medium: 'ethernet',
  capture: ETHERNET_CAPTURE,
  create: () => ({}),
  update: (current) => current,
  ports: () => [portOfType(ETHERNET, { adapter: 0, port: 0, name: 'Ethernet0', shortName: 'e0' })],
  firstFiles(name, { startup_script: script }): Readonly<Record<string, string>> {
    return typeof script === 'string'
      ? { [STARTUP_SCRIPT]: script.replaceAll('%h', () => promptOf(name)) }
      : {};
  },
};
