/** The hypervisor port of a router that runs, in the network of its program. */
import { Socket } from 'node:net';
import type { Test } from 'tap';
import { Hypervisor } from '../../src/run/nodes/dynamips/hypervisor.js';
import { namespaceTasks } from '../../src/run/nodes/namespace-tasks.js';
import { programsOf, type Json } from './node-lab.js';

export function hypervisorOf(t: Test, node: Json): Hypervisor {
  const [, port] = /-H 127\.0\.0\.1:(\d+)/.exec(String(node['command_line'])) ?? [];
  const path = `/proc/${programsOf(node)[0] ?? 'self'}/ns/net`;
  const fd = namespaceTasks.connect({ path, port: Number(port) });
  const hypervisor = new Hypervisor(new Socket({ fd }));
  t.teardown(() => {
    hypervisor.close();
  });
  return hypervisor;
}
