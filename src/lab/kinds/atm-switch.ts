/**
 * The ATM switch: virtual channels (`port:vpi:vci`) and virtual paths (`port:vpi`). A path carries every
 * channel of its VPI, so a port's VPI is either a path or holds channels, never both.
 */
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import type { AtmConnection } from '../../engine/devices/atm-switch.js';
import { LINK_TYPE } from '../../engine/wire/pcap.js';
import { deviceConnections, type MappedConnection } from './mapped-connections.js';
import {
  checkInputsUsedOnce,
  isPortNumber,
  mappedPorts,
  mappingsOf,
  parseSide,
  shownMappings,
} from './mapping.js';
import type { SwitchKind } from './node-kind.js';
import { templateSettings } from './template.js';

const LARGEST_VPI = 4095;
const LARGEST_VCI = 65_535;
const DATA_LINK_TYPES = { ATM: 'DLT_ATM_RFC1483' };

function faultOf(source: string, destination: string): string | undefined {
  for (const side of [source, destination]) {
    const numbers = parseSide(side);
    if (numbers === undefined || numbers.length < 2 || numbers.length > 3) {
      return `'${side}' is neither port:vpi:vci nor port:vpi`;
    }
    const [port, vpi = 0, vci = 0] = numbers;
    if (!isPortNumber(port)) return `'${side}': the port must be at most 65535`;
    if (vpi > LARGEST_VPI) return `'${side}': the VPI must be at most ${LARGEST_VPI}`;
    if (vci > LARGEST_VCI) return `'${side}': the VCI must be at most ${LARGEST_VCI}`;
  }
  if (parseSide(source)?.length !== parseSide(destination)?.length) {
    return `a channel cannot be mapped to a path: ${source} to ${destination}`;
  }
  return undefined;
}

/** Refuses a path that would hide channels, and names both. */
function checkPathsHideNothing(given: Readonly<Record<string, string>>): void {
  const sides = Object.entries(given).flat();
  const paths = new Map<string, string>();
  for (const side of sides) {
    const [port, vpi, vci] = parseSide(side) ?? [];
    if (vci === undefined) paths.set(`${port ?? ''}:${vpi ?? ''}`, side);
  }
  for (const side of sides) {
    const [port, vpi, vci] = parseSide(side) ?? [];
    const path = paths.get(`${port ?? ''}:${vpi ?? ''}`);
    if (vci !== undefined && path !== undefined) {
      throw refusals.mappingConflict(`The virtual path ${path} would hide the virtual channel ${side}`);
    }
  }
}

interface AtmProperties extends Readonly<Record<string, unknown>> {
  readonly mappings?: Readonly<Record<string, string>> | undefined;
}

function checked(given: AtmProperties): AtmProperties {
  checkInputsUsedOnce(given.mappings ?? {});
  checkPathsHideNothing(given.mappings ?? {});
  return given;
}

const look = { category: 'switch', default_name_format: 'ATMSW{0}', symbol: ':/symbols/atm_switch.svg' };

function deviceConnection({ source, destination }: MappedConnection, counter: number): AtmConnection {
  const [port = 0, vpi = 0, vci] = source;
  const [toPort = 0, toVpi = 0, toVci] = destination;
  return { port, vpi, vci, toPort, toVpi, toVci, counter };
}

export const atmSwitch: SwitchKind = {
  type: 'atm_switch',
  title: 'an ATM switch',
  alwaysRuns: true,
  imageProperties: [],
  keepsContentElsewhere: false,
  properties: z.strictObject({ mappings: mappingsOf(faultOf).optional() }),
  shownProperties: shownMappings,
  consoleTypes: [],
  template: { settings: templateSettings({}), defaults: look },
  builtinTemplate: {
    rank: 7,
    template: { template_id: 'aaa764e2-b383-300f-8a0e-3493bbfdb7d2', name: 'ATM switch', ...look },
  },
  medium: 'serial',
  capture: { linkType: LINK_TYPE.SUNATM, packets: 'aal5' },
  connectionUnit: 'cells',
  tables: [],
  create: (given: AtmProperties) => checked({ mappings: given.mappings ?? {} }),
  update: (current, given: AtmProperties) => ({ ...current, ...checked(given) }),
  ports: ({ properties }) => mappedPorts(properties, DATA_LINK_TYPES),
  canAttach: () => true,
  deviceSettings: (properties, options) => ({
    kind: 'atm_switch',
    settings: {
      connections: deviceConnections(properties, options, deviceConnection),
      refusesBadHec: options.refusesBadHec,
    },
  }),
};
