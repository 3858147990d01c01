/** The certificate that a server starts with. */
import type { FoundCertificate } from '../operations/certificate-tasks.js';
import { ConfigError } from './config-error.js';
import type { Config } from './config.js';
import type { Threads } from './threads.js';

/** Throws ConfigError when the files are no pair. */
export async function startCertificate(
  { certificate }: Config,
  files: Threads['files'],
): Promise<FoundCertificate | undefined> {
  if (certificate === undefined) return undefined;
  const found = await files.run('readCertificate', certificate);
  if (found.problem !== undefined) throw new ConfigError(found.problem);
  return found;
}
