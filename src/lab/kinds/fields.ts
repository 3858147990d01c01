/** The schemas of values that several kinds have among their properties. */
import { z } from 'zod';

/** The most characters of a text that a person reads or a program takes line by line. */
const LONGEST_TEXT = 65_536;
/** The most characters of the name of a file on a host. */
const LONGEST_PATH = 4096;
const LONGEST_WORD = 255;

/** The first content of a configuration file. The greatest body of a request is smaller. */
export const contentOfFile = z.string().max(1_048_576).nullable().optional();

/** The two configurations of a router, which a client may send when it makes one. */
export const routerConfigs = {
  schema: z.strictObject({
    startup_config_content: contentOfFile,
    private_config_content: contentOfFile,
  }),
  files: { startup_config: 'startup_config_content', private_config: 'private_config_content' },
};

export const longText = z.string().max(LONGEST_TEXT);
export const word = z.string().max(LONGEST_WORD);
/** The name of an image: a path in the folder of images of the emulator, or an absolute one. */
export const imageName = z.string().max(LONGEST_PATH);
/** The MD5 sum of an image. The server computes it: what a client sends back is accepted and not used. */
export const imageDigest = z.string().max(LONGEST_WORD).nullable().optional();
export const tcpPort = z.int().min(1).max(65_535);
export const onClose = z.enum(['power_off', 'shutdown_signal', 'save_vm_state']);

type Values = Readonly<Record<string, unknown>>;

/** The entries that have a value: clients send null, or nothing, for what they leave open. */
export function withValue(given: Values): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  );
}

/** The entries without those that the server computes. */
export function withoutKeys(given: Values, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([key]) => !keys.includes(key)));
}

/** A stored number of adapters: a whole number between none and the most, whatever was stored. */
export function countOf(value: unknown, otherwise: number, most: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) return otherwise;
  return Math.min(Math.max(value, 0), most);
}
