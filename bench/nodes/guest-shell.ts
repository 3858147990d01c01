/** The shell of a guest that has booted, on its serial console. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PcConsole } from './pc-console.js';

const BOOTED = /the guest is ready[^]*# /;
/** A machine of its own listens after a moment. */
const LISTENS_WITHIN_MS = 10_000;
const LOOK_MS = 50;

export async function booted(port: number): Promise<PcConsole> {
  for (let waited = 0; ; waited += LOOK_MS) {
    try {
      const console = await PcConsole.open(port);
      await console.until(BOOTED);
      return console;
    } catch (error) {
      if (waited >= LISTENS_WITHIN_MS) throw error;
    }
    await sleep(LOOK_MS);
  }
}

/** Runs a command in the guest; returns what was printed. */
export async function run(console: PcConsole, command: string): Promise<string> {
  const printed = await console.ask(`${command}; echo "done"-$?`, /done-\d+\r?\n/);
  if (!printed.includes('done-0')) throw new Error(`a guest could not do this: ${printed}`);
  return printed;
}
