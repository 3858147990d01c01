/** The history of a project, and that of the server as a whole. */
import { z } from 'zod';
import { jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { EVENT_KINDS } from '../lab/history-event.js';
import type { Controller } from '../lab/controller.js';
import type { History } from '../operations/history/history.js';
import { rememberedEvent, type EventChoice } from '../operations/history/remembered-event.js';
import { names, nothing } from './schemas.js';

const tag = 'Operations';
const MOST_EVENTS = 1000;
const USUAL_EVENTS = 100;

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const query = z.strictObject({
  since: time.optional(),
  until: time.optional(),
  /** Kinds, separated by commas. */
  kind: z
    .string()
    .transform((list) => list.split(','))
    .pipe(z.array(z.enum(EVENT_KINDS)))
    .optional(),
  limit: z.coerce.number().int().min(1).max(MOST_EVENTS).default(USUAL_EVENTS),
});

function choiceOf({ since = 0, until = Infinity, kind: kinds, limit }: z.output<typeof query>): EventChoice {
  return { since, until, kinds, limit };
}

export function historyRoutes({ projects }: Controller, history: Pick<History, 'page'>): Route[] {
  const answers = { 200: z.array(rememberedEvent) };
  return [
    route({
      method: 'GET',
      path: '/v2/projects/{project_id}/history',
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List what happened in a project in the last 30 days, the newest first',
      params: names('project_id'),
      query,
      answers,
      handle: async ({ params, query: wanted }) =>
        jsonText(200, await history.page(projects.find(params.project_id).id, choiceOf(wanted))),
    }),
    route({
      method: 'GET',
      path: '/v2/admin/history',
      tag,
      access: { right: 'admin' },
      summary: 'List what happened to the server as a whole in the last 30 days, the newest first',
      params: nothing,
      query,
      answers,
      handle: async ({ query: wanted }) => jsonText(200, await history.page(undefined, choiceOf(wanted))),
    }),
  ];
}
