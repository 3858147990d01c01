/** `wirefarm farm join` and `wirefarm farm leave`: the records of a server that does not run go to a farm, or come back. */
import { UsageError } from './command-error.js';

const HELP = [
  'Usage:',
  '  wirefarm farm join --data DIR --farm etcd://HOST:2379,HOST:2379 [flags of wirefarm serve]',
  '      Carries the records of a server that does not run into the etcd of a farm: projects, users, templates and the',
  '      like, whole or not at all. No server may run on the farm meanwhile.',
  '  wirefarm farm leave --data DIR --farm etcd://HOST:2379,HOST:2379 [flags of wirefarm serve]',
  '      Carries the projects whose folders are in the projects folder back, and copies of what belongs to all.',
  '',
  'Files of labs, images, snapshots and captures stay where they are. One that was interrupted is done again.',
  '',
].join('\n');

/** Returns the exit code. */
export async function joinOrLeave(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(HELP);
    return 0;
  }
  if (args[0] !== 'join' && args[0] !== 'leave')
    throw new UsageError('say join or leave (wirefarm farm --help)');
  // It reads the settings as the server does, and sets the exit code.
  await import(new URL('../server/move-main.js', import.meta.url).href);
  return Number(process.exitCode ?? 0);
}
