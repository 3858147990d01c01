/** The Frame Relay switch: each mapping joins two DLCIs (`port:dlci`). DLCIs 0 and 1023 carry management. */
import { z } from 'zod';
import { checkInputsUsedOnce, isPortNumber, mappedPorts, mappingsOf, parseSide } from './mapping.js';
import type { NodeKind } from './node-kind.js';

const LARGEST_DLCI = 1022;
const DATA_LINK_TYPES = { 'Frame Relay': 'DLT_FRELAY' };

function whatIsWrong(source: string, destination: string): string | undefined {
  return whatIsWrongOn(source) ?? whatIsWrongOn(destination);
}

function whatIsWrongOn(side: string): string | undefined {
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

export const frameRelaySwitch: NodeKind = {
  type: 'frame_relay_switch',
  properties: z.strictObject({ mappings: mappingsOf(whatIsWrong).optional() }),
  create: (given: FrameRelayProperties) => checked({ mappings: given.mappings ?? {} }),
  update: (current, given: FrameRelayProperties) => ({ ...current, ...checked(given) }),
  ports: (properties) => mappedPorts(properties, DATA_LINK_TYPES),
  linkType: 'serial',
  consoleTypes: [],
};
