/** Whether what has come is what was promised. */
import { refusals } from '../../base/errors/errors.js';
import type { DigestName, Digests } from './landing.js';

/** Refuses (400) content that has another digest than was promised. */
export function checkPromise(promised: Digests, found: Digests): void {
  for (const name of Object.keys(promised) as DigestName[]) {
    if (found[name] !== promised[name]) throw refusals.uploadDiffers(name);
  }
}
