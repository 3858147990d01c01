/** Servers with virtual machines. */
import { spawnSync } from 'node:child_process';
import { ownConsolePorts, startServer, type ServerProcess } from './server-process.js';
import type { Teardown } from './scratch.js';

const PROGRAMS = [
  ['qemu-system-x86_64', 'qemu-system-x86'],
  ['qemu-img', 'qemu-utils'],
] as const;

/** False when this host has QEMU. */
export function missingQemu(): string | false {
  for (const [program, name] of PROGRAMS) {
    if (spawnSync('which', [program]).status !== 0)
      return `the program ${program} is missing: install the package ${name}`;
  }
  return false;
}

/** Guests are emulated in tests: a KVM that opens may still run none. */
export function startQemuServer(t: Teardown, flags: readonly string[] = []): Promise<ServerProcess> {
  return startServer(t, {
    flags: ['--kvm', 'off', ...flags],
    environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() },
  });
}
