/** QEMU beside its nodes: its programs on this host, disks that clients make, and larger disks of nodes. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { empty, json } from '../http/answer.js';
import type { RouteAccess } from '../http/route-access.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { qemu } from '../lab/kinds/qemu.js';
import { QEMU_PLATFORMS } from '../lab/kinds/qemu-platforms.js';
import type { LocalCompute } from '../run/local-compute.js';
import type { ComputeNode } from '../run/nodes/compute-node.js';
import { ProgramNode } from '../run/nodes/program-node.js';
import { DRIVES } from '../run/nodes/qemu/prepared-disks.js';
import { findNode } from './compute-ids.js';
import { names, nothing } from './schemas.js';

const tag = 'QEMU';
/** 16 TiB. */
const LARGEST = 16_777_216;

const binaries = z.array(z.strictObject({ path: z.string(), version: z.string() }));
const capabilities = z.strictObject({ kvm: z.array(z.enum(QEMU_PLATFORMS)) });
const mebibytes = z.int().min(1).max(LARGEST);
const filter = z.object({
  archs: z
    .array(z.enum([...QEMU_PLATFORMS, '']))
    .max(100)
    .optional(),
});
const path = z.string().min(1).max(4096);
const onOrOff = z.enum(['on', 'off']);

const newImage = z.strictObject({
  qemu_img: path,
  path,
  format: z.enum(['qcow2', 'qcow', 'vpc', 'vdi', 'vmdk', 'raw']),
  size: mebibytes,
  preallocation: z.enum(['off', 'metadata', 'falloc', 'full']).optional(),
  cluster_size: z.int().min(1).max(LARGEST).optional(),
  refcount_bits: z.int().min(1).max(64).optional(),
  lazy_refcounts: onOrOff.optional(),
  subformat: z
    .enum([
      'dynamic',
      'fixed',
      'streamOptimized',
      'twoGbMaxExtentSparse',
      'twoGbMaxExtentFlat',
      'monolithicSparse',
      'monolithicFlat',
    ])
    .optional(),
  static: onOrOff.optional(),
  zeroed_grain: onOrOff.optional(),
  adapter_type: z.enum(['ide', 'lsilogic', 'buslogic', 'legacyESX']).optional(),
});

const changedImage = z.strictObject({ qemu_img: path, path, extend: mebibytes.optional() });
const largerDisk = z.strictObject({ drive_name: z.enum(DRIVES), extend: mebibytes });

export function qemuRoutes(controller: Controller, compute: LocalCompute): Route[] {
  return [
    ...questionRoutes(compute, '/v2/compute/qemu', { right: 'compute' }, nothing, () => undefined),
    ...questionRoutes(
      compute,
      '/v2/computes/{compute_id}/qemu',
      { right: 'computes:read' },
      names('compute_id'),
      ({ compute_id: id = '' }, what) =>
        controller.computes.isOther(id)
          ? controller.computes.ask(id, { method: 'GET', path: `/qemu/${what}` })
          : undefined,
    ),
    ...diskRoutes(controller, 'POST', 'Make an empty disk among the images', newImage, (body) => {
      const { qemu_img: program, path: target, format, size, ...options } = body;
      const given = Object.entries(options).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, value] as const],
      );
      const settings = { program, path: target, format, mebibytes: size };
      return compute.machines.createDisk({ ...settings, options: Object.fromEntries(given) });
    }),
    ...diskRoutes(controller, 'PUT', 'Make a disk among the images larger', changedImage, (body) =>
      compute.machines.extendDisk(body.qemu_img, body.path, body.extend ?? 0),
    ),
    route({
      method: 'POST',
      path: '/v2/compute/projects/{project_id}/qemu/nodes/{node_id}/resize_disk',
      tag,
      access: { right: 'compute' },
      summary: 'Make a disk of a stopped QEMU machine larger',
      params: names('project_id', 'node_id'),
      body: largerDisk,
      answers: { 201: null },
      handle: async ({ params, body }) => {
        await resize(compute, findNode(compute, qemu, params), body);
        return empty(201);
      },
    }),
    route({
      method: 'POST',
      path: '/v2/projects/{project_id}/nodes/{node_id}/resize_disk',
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Make a disk of a stopped QEMU machine larger',
      params: names('project_id', 'node_id'),
      body: largerDisk,
      answers: { 201: null },
      handle: async ({ params: { project_id: projectId, node_id: id }, body }) => {
        const topology = await controller.projects.find(projectId).change((open) => open);
        const stored = topology.nodes.get(id);
        if (stored === undefined) throw refusals.nodeUnknown(id);
        await topology.run.settled();
        if (stored.node_type !== qemu.type) throw refusals.nodeWithoutDisks(stored.name);
        await resize(compute, findNode(compute, qemu, { project_id: projectId, node_id: id }), body);
        return empty(201);
      },
    }),
  ];
}

async function resize(
  { machines }: LocalCompute,
  node: ComputeNode,
  { drive_name: drive, extend }: z.output<typeof largerDisk>,
): Promise<void> {
  if (!(node instanceof ProgramNode)) throw refusals.nodeWithoutDisks(node.name);
  await node.whileStopped('resize a disk', () => machines.resizeDisk(node, drive, extend));
}

/** A change of the disks among the images, at the compute's path and at that of the controller. */
function diskRoutes<Body extends z.ZodType>(
  { computes }: Controller,
  method: 'POST' | 'PUT',
  summary: string,
  body: Body,
  work: (body: z.output<Body>) => Promise<void>,
): Route[] {
  return [
    route({
      method,
      path: '/v2/compute/qemu/img',
      tag,
      access: { right: 'images:write' },
      summary,
      params: nothing,
      body,
      answers: { 201: null },
      handle: async (request) => {
        await work(request.body as z.output<Body>);
        return empty(201);
      },
    }),
    route({
      method,
      path: '/v2/computes/{compute_id}/qemu/img',
      tag,
      access: { right: 'images:write' },
      summary,
      params: names('compute_id'),
      body,
      answers: { 200: z.strictObject({}) },
      handle: async (request) => {
        computes.checkServed(request.params.compute_id, `${method} /qemu/img`);
        await work(request.body as z.output<Body>);
        return json(200, {});
      },
    }),
  ];
}

type PathParams = Readonly<Record<string, string>>;

/** The questions that the compute answers, and the controller for it. */
function questionRoutes(
  compute: LocalCompute,
  base: string,
  access: RouteAccess,
  params: z.ZodObject,
  askElsewhere: (params: PathParams, what: string) => Promise<unknown> | undefined,
): Route[] {
  const question = (
    what: string,
    summary: string,
    answer: z.ZodType,
    ask: (archs?: string[]) => Promise<unknown>,
  ) =>
    route({
      method: 'GET',
      path: `${base}/${what}`,
      tag,
      access,
      summary,
      params,
      body: filter,
      answers: { 200: answer },
      handle: async ({ params: given, body }) => {
        return json(200, (await askElsewhere(given as PathParams, what)) ?? (await ask(body.archs)));
      },
    });
  return [
    question('binaries', 'List the emulators of this host', binaries, (archs) =>
      compute.machines.binaries(archs),
    ),
    question('img-binaries', 'List the programs of this host that make disks', binaries, () =>
      compute.machines.imgBinaries(),
    ),
    question('capabilities', 'Show the platforms whose machines run by KVM', capabilities, async () => ({
      kvm: await compute.machines.kvmPlatforms(),
    })),
  ];
}
