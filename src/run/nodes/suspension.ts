/** How guests stand still: as clients suspend them, or, when the server has to, by a signal to their programs. */
import type { ConsoleHub } from '../consoles/console-hub.js';
import type { Run } from './machine.js';

/**
 * Lets the guest stand still. With a reason, which its console tells, the server wants it: that goes for kinds, too, that clients
 * cannot suspend. Resolves with whether it stands still.
 */
export async function standStill(
  run: Run,
  console: Pick<ConsoleHub, 'printed'>,
  reason: string | undefined,
): Promise<boolean> {
  if (run.suspend !== undefined) await run.suspend();
  else if (reason !== undefined && run.haltable !== undefined) run.haltable.kill('SIGSTOP');
  else return false;
  if (reason !== undefined) console.printed(Buffer.from(`\r\n[suspended: ${reason}]\r\n`));
  return true;
}

export async function goOn(run: Run): Promise<void> {
  if (run.resume !== undefined) await run.resume();
  else run.haltable?.kill('SIGCONT');
}
