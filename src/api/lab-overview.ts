/** The labs at a glance: owners, nodes, links, captures, what has passed, and when each ends. */
import { z } from 'zod';
import type { Grant } from '../base/rights.js';
import type { Caller } from '../http/caller.js';
import { route, type Route } from '../http/route.js';
import { SlicedText } from '../http/sliced-text.js';
import type { Grants } from '../lab/access/grants.js';
import type { Users } from '../lab/access/users.js';
import type { Controller } from '../lab/controller.js';
import type { Project } from '../lab/projects/project.js';
import { trafficOf } from '../run/links/link-traffic.js';
import type { LocalCompute } from '../run/local-compute.js';
import { isoOf, type EndTimeServices } from './end-times.js';
import { nothing } from './schemas.js';
import { labFigures, type LabFiguresShape } from './shapes/lab-overview.js';

interface LabOverviewServices {
  readonly compute: Pick<LocalCompute, 'runOf'>;
  readonly grants: Pick<Grants, 'ownersOf'>;
  readonly users: Pick<Users, 'get'>;
  readonly ends: Pick<EndTimeServices, 'times' | 'uses'>;
}

/** The loop is given back after so many links or nodes. */
const OBJECTS_A_SLICE = 500;
const FORWARD_OCTETS = 1;
const BACKWARD_OCTETS = 3;

export function labOverviewRoutes({ projects }: Controller, services: LabOverviewServices): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/overview/projects',
      tag: 'Operations',
      access: { right: 'projects:read' },
      summary:
        'Show the projects at a glance: how far one may use each, owners, nodes, links, captures, octets, and ends',
      params: nothing,
      answers: { 200: z.array(labFigures) },
      handle: ({ exchange }) =>
        exchange.streamTail(
          'application/json',
          new SlicedText(textOf([...projects.all.values()], services, exchange.caller)),
        ),
    }),
  ];
}

function* textOf(
  projects: readonly Project[],
  services: LabOverviewServices,
  caller: Caller,
): Generator<string> {
  let before = '[';
  for (const project of projects) {
    const grant = caller.grantOn(project.id);
    if (grant === undefined) {
      yield '';
      continue;
    }
    yield before;
    const figures = yield* figuresOf(project, grant, services);
    yield JSON.stringify(figures);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

/** Only open projects have their nodes and links in memory, and are counted. */
function* figuresOf(
  project: Project,
  grant: Grant,
  { compute, grants, users, ends }: LabOverviewServices,
): Generator<string, LabFiguresShape> {
  const { id } = project;
  const facts = {
    project_id: id,
    grant,
    owners: grants.ownersOf(id).flatMap((userId) => users.get(userId)?.name ?? []),
    last_used_at: isoOf(ends.uses.last(id)),
    ends_at: isoOf(ends.times.of(id).endsAt),
  };
  if (isClosed(project)) return { ...facts, running: null };
  const { topology } = project;
  const { nodes, links, captures } = topology;
  let started = 0;
  let count = 0;
  for (const node of [...nodes.values()]) {
    if (topology.statusOf(node) === 'started') started++;
    // It may be closed when the loop comes back.
    if (++count % OBJECTS_A_SLICE === 0) {
      yield '';
      if (isClosed(project)) return { ...facts, running: null };
    }
  }
  let octets = 0;
  const { wires: its } = compute.runOf(id) ?? {};
  const wires = its === undefined ? [] : [...its.values(), ...its.elsewhere.values()];
  for (let first = 0; first < wires.length; first += OBJECTS_A_SLICE) {
    for (const counts of Object.values(trafficOf(wires.slice(first, first + OBJECTS_A_SLICE))))
      octets += (counts[FORWARD_OCTETS] ?? 0) + (counts[BACKWARD_OCTETS] ?? 0);
    yield '';
  }
  const captured = [...captures.values()].filter(({ isRunning }) => isRunning).length;
  const running = { nodes: nodes.size, started, links: links.size, captures: captured, octets };
  return { ...facts, running };
}

const isClosed = ({ isOpen }: Project): boolean => !isOpen;
