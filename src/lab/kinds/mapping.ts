/**
 * The `mappings` of ATM and Frame Relay switches: an object whose keys and values name a port and a label, as
 * in `"1:0:100": "10:0:200"`. Each entry connects both directions; an entry that repeats another one mirrored
 * is accepted and adds nothing.
 */
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import type { Properties } from './node-kind.js';
import type { NodePort } from './port.js';

const LARGEST_PORT = 65_535;
const LONGEST_SIDE = 64;
/** Far more than labs need. One answer of the statistics holds all of them. */
const MOST_MAPPINGS = 16_384;

/** The numbers of one side of a mapping, the port first; undefined when the text is no list of numbers. */
export function parseSide(text: string): readonly number[] | undefined {
  if (!/^\d{1,9}(:\d{1,9})*$/.test(text)) return undefined;
  return text.split(':').map(Number);
}

export function isPortNumber(number: number | undefined): boolean {
  return number !== undefined && number <= LARGEST_PORT;
}

/** The schema of the mappings as the compute shows them. */
export const shownMappings = { mappings: z.record(z.string(), z.string()) };

/** The schema of `mappings`; `faultOf` says why an entry is refused. */
export function mappingsOf(
  faultOf: (source: string, destination: string) => string | undefined,
): z.ZodType<Readonly<Record<string, string>>> {
  return z
    .record(z.string().max(LONGEST_SIDE), z.string().max(LONGEST_SIDE))
    .superRefine((given, context) => {
      if (Object.keys(given).length > MOST_MAPPINGS) {
        const message = `there may be at most ${MOST_MAPPINGS} mappings`;
        context.addIssue({ code: 'custom', path: [], message, input: given });
        return;
      }
      for (const [source, destination] of Object.entries(given)) {
        const message = faultOf(source, destination);
        if (message !== undefined)
          context.addIssue({ code: 'custom', path: [source], message, input: destination });
      }
    });
}

/** Refuses mappings that give one input two outputs. */
export function checkInputsUsedOnce(mappings: Readonly<Record<string, string>>): void {
  const outputs = new Map<string, string>();
  for (const [source, destination] of Object.entries(mappings)) {
    for (const [input, output] of [
      [source, destination],
      [destination, source],
    ] as const) {
      const taken = outputs.get(canonical(input));
      if (taken !== undefined && taken !== canonical(output)) {
        throw refusals.mappingConflict(
          `Mapping ${source} to ${destination}: ${input} is already mapped to ${taken}`,
        );
      }
      outputs.set(canonical(input), canonical(output));
    }
  }
}

/** `01:5` and `1:5` are the same connection. */
const canonical = (side: string): string => (parseSide(side) ?? []).join(':');

/** One serial port for every port number that the mappings name, ascending. */
export function mappedPorts(
  properties: Properties,
  dataLinkTypes: Readonly<Record<string, string>>,
): NodePort[] {
  const numbers = new Set<number>();
  const mappings = properties['mappings'];
  if (typeof mappings === 'object' && mappings !== null) {
    for (const side of Object.entries(mappings).flat()) {
      const number = typeof side === 'string' ? parseSide(side)?.[0] : undefined;
      if (number !== undefined && isPortNumber(number)) numbers.add(number);
    }
  }
  return [...numbers]
    .sort((a, b) => a - b)
    .map((number) => ({
      adapter_number: 0,
      data_link_types: dataLinkTypes,
      link_type: 'serial',
      name: String(number),
      port_number: number,
      short_name: String(number),
    }));
}
