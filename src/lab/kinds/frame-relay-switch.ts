/** The Frame Relay switch: each mapping joins two DLCIs (`port:dlci`). DLCIs 0 and 1023 carry management. */
import { z } from 'zod';
import type { FrameRelayConnection } from '../../engine/devices/frame-relay-switch.js';
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
import type { DeviceTable, SwitchKind } from './node-kind.js';
import { templateSettings } from './template.js';

const LARGEST_DLCI = 1022;
const DATA_LINK_TYPES = { 'Frame Relay': 'DLT_FRELAY' };

function faultOf(source: string, destination: string): string | undefined {
  return sideFault(source) ?? sideFault(destination);
}

function sideFault(side: string): string | undefined {
  const numbers = parseSide(side);
  if (numbers?.length !== 2) return `'${side}' is not port:dlci`;
  const [port, dlci = 0] = numbers;
  if (!isPortNumber(port)) return `'${side}': the port must be at most 65535`;
  if (dlci < 1 || dlci > LARGEST_DLCI) return `'${side}': the DLCI must lie between 1 and ${LARGEST_DLCI}`;
  return undefined;
}

interface FrameRelayProperties extends Readonly<Record<string, unknown>> {
  readonly mappings?: Readonly<Record<string, string>> | undefined;
}

function checked(given: FrameRelayProperties): FrameRelayProperties {
  checkInputsUsedOnce(given.mappings ?? {});
  return given;
}

const look = {
  category: 'switch',
  default_name_format: 'FRSW{0}',
  symbol: ':/symbols/frame_relay_switch.svg',
};

const lmi = {
  dialect: z.string().nullable(),
  enquiries: z.int(),
  last_enquiry_seconds_ago: z.number().nullable(),
  receive_sequence: z.int(),
  send_sequence: z.int(),
};
const connected = z.object({ active: z.boolean(), dlci: z.int(), to_dlci: z.int(), to_port: z.int() });
const inspection = z.object({
  ports: z.array(z.object({ dlcis: z.array(connected), lmi: z.object(lmi), port: z.int() })),
});

const dlciTable = z.array(
  z.strictObject({
    dlcis: z.array(
      z.strictObject({
        /** Whether the port that it leads to is attached. */
        active: z.boolean(),
        dlci: z.int(),
        to_dlci: z.int(),
        to_port_number: z.int(),
      }),
    ),
    lmi: z.strictObject(lmi),
    port_number: z.int(),
  }),
);

/** Sorted by port number. */
const dlcis: DeviceTable = {
  name: 'dlcis',
  contents: 'DLCIs and the state of the management',
  schema: dlciTable,
  rows: (inspected): z.infer<typeof dlciTable> =>
    inspection.parse(inspected).ports.map((told) => ({
      dlcis: told.dlcis.map(({ active, dlci, to_dlci, to_port }) => {
        return { active, dlci, to_dlci, to_port_number: to_port };
      }),
      lmi: told.lmi,
      port_number: told.port,
    })),
};

function deviceConnection({ source, destination }: MappedConnection, counter: number): FrameRelayConnection {
  const [port = 0, dlci = 0] = source;
  const [toPort = 0, toDlci = 0] = destination;
  return { port, dlci, toPort, toDlci, counter };
}

export const frameRelaySwitch: SwitchKind = {
  type: 'frame_relay_switch',
  title: 'a Frame Relay switch',
  alwaysRuns: true,
  imageProperties: [],
  keepsContentElsewhere: false,
  properties: z.strictObject({ mappings: mappingsOf(faultOf).optional() }),
  shownProperties: shownMappings,
  consoleTypes: [],
  template: { settings: templateSettings({}), defaults: look },
  builtinTemplate: {
    rank: 6,
    template: { template_id: 'dd0f6f3a-ba58-3249-81cb-a1dd88407a47', name: 'Frame Relay switch', ...look },
  },
  medium: 'serial',
  capture: { linkType: LINK_TYPE.FRELAY, packets: 'frames' },
  connectionUnit: 'frames',
  tables: [dlcis],
  create: (given: FrameRelayProperties) => checked({ mappings: given.mappings ?? {} }),
  update: (current, given: FrameRelayProperties) => ({ ...current, ...checked(given) }),
  ports: ({ properties }) => mappedPorts(properties, DATA_LINK_TYPES),
  canAttach: () => true,
  deviceSettings: (properties, options) => ({
    kind: 'frame_relay_switch',
    settings: { connections: deviceConnections(properties, options, deviceConnection) },
  }),
};
