/** Moves TAPs into the network namespace of a container, as its interfaces eth0, eth1 and so on. */
import { randomBytes } from 'node:crypto';
import { refusals } from '../../../base/errors/errors.js';
import type { Keeper } from '../../keeper/keeper.js';
import { FIRST_SCRIPT } from './container-settings.js';
import { outputOf } from '../keeper-programs.js';

/**
 * $1 is the process and $2 the script that it runs first; each further argument is a line of the batch. It waits, for
 * two seconds at most, until the script has become the command of the container: that may fail at once.
 */
const SCRIPT = `
process=$1
script=$2
shift 2
printf '%s\\n' "$@" | ip -batch - || exit
left=100
while [ $left -gt 0 ] && grep -q "$script" "/proc/$process/cmdline" 2>/dev/null; do
  left=$((left - 1))
  sleep 0.02
done`;

export interface ContainerTap {
  readonly name: string;
  /** The MAC address of the interface. */
  readonly address: string;
  readonly index: number;
}

/** A name that no interface of this host has. Names of interfaces have at most 15 characters. */
export function newTapName(): string {
  return `wf-${randomBytes(6).toString('hex')}`;
}

/** `pid` is a process in the namespace. Refuses (409) with what `ip` prints. */
export async function moveTaps(keeper: Keeper, pid: number, taps: readonly ContainerTap[]): Promise<void> {
  const lines = taps.flatMap(({ name, address, index }) => [
    `link set dev ${name} address ${address}`,
    `link set dev ${name} netns ${pid} name eth${index}`,
  ]);
  const printed = await outputOf(keeper, {
    command: 'sh',
    args: ['-c', SCRIPT, 'sh', String(pid), FIRST_SCRIPT, ...lines],
    console: 'pipes',
  });
  if (printed?.trim() !== '') throw refusals.interfacesNotMoved(printed ?? 'ip could not be started');
}
