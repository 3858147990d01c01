/**
 * Whether the server takes new work. While it does not, no project opens, no node starts, and no upload and no job begins;
 * what is under way goes on to its end.
 */
import { refusals } from './errors/errors.js';

export class Intake {
  isOpen = true;

  /** Refuses (503) new work. Call it before anything of the work has been done. */
  check(): void {
    if (!this.isOpen) throw refusals.draining(RETRY_SECONDS);
  }
}

/** Clients that ask again after so long find another server in the place of this one, or this one at work. */
const RETRY_SECONDS = 30;
