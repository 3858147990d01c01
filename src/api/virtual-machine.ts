/** The virtual machine of GNS3: its settings are kept, and it cannot be enabled, because nodes run on this host. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { tcpPort } from '../lab/gns3-file/topology-schema.js';
import { MACHINE_ENGINES, WHEN_EXIT } from '../lab/virtual-machine.js';
import { names, nothing } from './schemas.js';

const tag = 'GNS3 VM';
const path = '/v2/gns3vm';

const machine = z.strictObject({
  allocate_vcpus_ram: z.boolean(),
  enable: z.boolean(),
  engine: z.enum(MACHINE_ENGINES),
  headless: z.boolean(),
  port: tcpPort,
  ram: z.int().min(1).max(16_777_216),
  vcpus: z.int().min(1).max(4096),
  vmname: z.string().max(255).nullable(),
  when_exit: z.enum(WHEN_EXIT),
});

const engine = z.strictObject({
  description: z.string(),
  engine_id: z.enum(MACHINE_ENGINES),
  name: z.string(),
  support_headless: z.boolean(),
  support_ram: z.boolean(),
  support_when_exit: z.boolean(),
});

const NAMES = { vmware: 'VMware', virtualbox: 'VirtualBox', remote: 'Remote' };

export function virtualMachineRoutes({ virtualMachine }: Controller): Route[] {
  return [
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'computes:read' },
      summary: 'Show the settings of the GNS3 VM',
      params: nothing,
      answers: { 200: machine },
      handle: () => json(200, virtualMachine.settings),
    }),
    route({
      method: 'PUT',
      path,
      tag,
      access: { right: 'computes:write' },
      summary: 'Change the settings of the GNS3 VM, which cannot be enabled',
      params: nothing,
      body: machine.partial(),
      answers: { 201: machine },
      handle: async ({ body: { enable = false, ...settings } }) => {
        if (enable) throw refusals.virtualMachineUnavailable();
        return json(201, await virtualMachine.update(settings));
      },
    }),
    route({
      method: 'GET',
      path: `${path}/engines`,
      tag,
      access: { right: 'computes:read' },
      summary: 'List the programs that could run a GNS3 VM',
      params: nothing,
      answers: { 200: z.array(engine) },
      handle: () =>
        json(
          200,
          MACHINE_ENGINES.map((id) => ({
            description: 'This server runs nodes on its own host, without a virtual machine around them.',
            engine_id: id,
            name: NAMES[id],
            support_headless: id !== 'remote',
            support_ram: id !== 'remote',
            support_when_exit: id !== 'remote',
          })),
        ),
    }),
    route({
      method: 'GET',
      path: `${path}/engines/{engine}/vms`,
      tag,
      access: { right: 'computes:read' },
      summary: 'List the virtual machines of such a program: there are none',
      params: names('engine'),
      answers: { 200: z.array(z.strictObject({ vmname: z.string() })) },
      handle: ({ params }) => {
        if (!MACHINE_ENGINES.some((id) => id === params.engine))
          throw refusals.machineEngineUnknown(params.engine);
        return json(200, []);
      },
    }),
  ];
}
