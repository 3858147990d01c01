/** The refusals of quotas. Each says what is used, what is wanted and what is allowed, for people and for programs. */
import { Refusal } from './refusal.js';

const RETRY_SECONDS = 10;

type Numbers = readonly [whose: string, resource: string, used: number, more: number, allowed: number];

const told = (...[whose, resource, used, more, allowed]: Numbers): string =>
  `The quota of the ${whose} allows ${allowed} of ${resource}: ${used} of that is used, and this takes ${more} more`;

const details = (...[whose, resource, used, , allowed]: Numbers) => ({
  quota: { scope: whose, resource, used, allowed },
});

export const quotaRefusals = {
  quotaReached: (...numbers: Numbers) =>
    new Refusal(409, 'quota_reached', `${told(...numbers)}. Stop or delete some`, {
      details: details(...numbers),
    }),
  quotaOfWork: (...numbers: Numbers) =>
    new Refusal(429, 'quota_of_work', `${told(...numbers)}. Try again when some of it has ended`, {
      details: details(...numbers),
      retryAfterSeconds: RETRY_SECONDS,
    }),
  quotaOfDisk: (...numbers: Numbers) =>
    new Refusal(507, 'quota_of_disk', `${told(...numbers)} bytes. Delete files, snapshots or projects`, {
      details: details(...numbers),
    }),
} as const;
