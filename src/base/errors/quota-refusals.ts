/** The refusals of quotas. Each says what is used, what is wanted and what is allowed, for people and for programs. */
import { Refusal } from './refusal.js';

const RETRY_SECONDS = 10;

type Numbers = readonly [whose: string, resource: string, used: number, more: number, allowed: number];

const told = (...[whose, resource, used, more, allowed]: Numbers): string =>
  `The quota of the ${whose} allows ${allowed} of ${resource}: ${used} of that is used, and this takes ${more} more`;

const details = (...[whose, resource, used, , allowed]: Numbers) => ({
  quota: { scope: whose, resource, used, allowed },
});

const MEBI = 2 ** 20;
const HOUR_SECONDS = 3600;

const inHours = (seconds: number): string => `${Number((seconds / HOUR_SECONDS).toFixed(2))} h`;

export const quotaRefusals = {
  guestFloor: (free: number, floor: number) =>
    new Refusal(
      507,
      'guest_floor',
      `${Math.floor(free / MEBI)} MiB are free on the disk of projects, and nodes run with ${Math.ceil(floor / MEBI)} or more ` +
        '(--guest-floor): delete files, snapshots or projects, then start the node again',
      { details: { free, floor } },
    ),
  endPassed: () =>
    new Refusal(409, 'end_passed', 'This end of the lab has passed already: close the lab instead'),
  endTooLate: (most: number) =>
    new Refusal(409, 'end_too_late', `Your labs may last ${inHours(most)} from now at most (--end-time)`, {
      details: { longest_seconds: most },
    }),
  idleTooLong: (most: number) =>
    new Refusal(409, 'idle_too_long', `Your labs may be idle for ${inHours(most)} at most (--idle-time)`, {
      details: { longest_seconds: most },
    }),
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
