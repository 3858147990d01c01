/** The audit as a stream of lines. */
import { z } from 'zod';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { TailSource } from '../http/streams/tail-flow.js';
import type { AuditChoice, AuditPlace } from '../lab/audit/audit-tasks.js';
import type { Audit } from '../lab/audit/audit.js';
import type { AuditChecks } from '../operations/audit-checks.js';
import { nothing } from './schemas.js';
import { auditVerification } from './shapes/audit.js';
import { begunJobAnswer } from './begun-job.js';
import { begunJob } from './shapes/jobs.js';

const MEDIA = 'application/x-ndjson';
const MOST_LINES = 100_000;
const USUAL_LINES = 10_000;

const query = z.strictObject({
  /** The name or the id of a user. */
  user: z.string().min(1).max(64).optional(),
  project: z.uuid().optional(),
  since: z.iso
    .datetime({ offset: true })
    .transform((text) => Date.parse(text))
    .default(0),
  limit: z.coerce.number().int().min(1).max(MOST_LINES).default(USUAL_LINES),
});

export function auditRoutes(
  audit: Pick<Audit, 'read'>,
  checks: Pick<AuditChecks, 'begin' | 'view'>,
): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/admin/audit',
      tag: 'Operations',
      access: { right: 'users:read' },
      summary: 'Stream the lines of the audit, the oldest first',
      params: nothing,
      query,
      answers: { 200: { media: MEDIA } },
      handle: ({ query: { limit, user, project, since }, exchange }) =>
        exchange.streamTail(MEDIA, linesOf(audit, { user, project, since }, limit)),
    }),
    route({
      method: 'GET',
      path: '/v2/admin/audit/verification',
      tag: 'Operations',
      access: { right: 'users:read' },
      summary: 'Tell which lines of the audit were removed, changed or moved, by its last verification',
      params: nothing,
      answers: { 200: auditVerification },
      handle: () => json(200, checks.view ?? null),
    }),
    route({
      method: 'POST',
      path: '/v2/admin/audit/verification',
      tag: 'Operations',
      access: { right: 'users:read' },
      summary: 'Begin to verify all of the audit, unless that is under way',
      params: nothing,
      answers: { 202: begunJob },
      handle: ({ exchange }) => begunJobAnswer(exchange, checks.begin()),
    }),
  ];
}

function linesOf(audit: Pick<Audit, 'read'>, choice: AuditChoice, limit: number): TailSource {
  let place: AuditPlace | undefined;
  let left = limit;
  return {
    next: () => {
      if (left <= 0) return 'over';
      return audit.read(choice, place, left).then(({ text, lines, next }) => {
        place = next;
        left = next === undefined ? 0 : left - lines;
        return Buffer.from(text);
      });
    },
    onReady: () => undefined,
    close: () => undefined,
  };
}
