/** The refusals of requests that another server of the farm should answer. */
import { Refusal } from './refusal.js';

const SOON = { retryAfterSeconds: 1 };
/** A claim ends ten seconds after its server was last heard, and the servers take their turns, a second each. */
const NEXT = 'When it has died, another server takes over within about 12 seconds';

export const forwardingRefusals = {
  ownerMissing: () =>
    new Refusal(503, 'owner_missing', 'No server of the farm has this at the moment, try again', SOON),
  ownerUnreachable: (server: string) =>
    new Refusal(
      503,
      'owner_unreachable',
      `The server ${server} has this and does not answer: nothing was done. ${NEXT}`,
      SOON,
    ),
  /** Only for a request that changes nothing. */
  ownerGone: (server: string) =>
    new Refusal(503, 'owner_gone', `The server ${server} has this and went away. ${NEXT}`, SOON),
  outcomeUnknown: (server: string) =>
    new Refusal(
      502,
      'outcome_unknown',
      `The server ${server} went away while it worked on the request: look whether it was done. ${NEXT}`,
    ),
  ownerElsewhere: () =>
    new Refusal(503, 'owner_elsewhere', 'Another server of the farm has this by now, try again', SOON),
  ownerUnsure: () =>
    new Refusal(503, 'owner_unsure', 'Another server of the farm might have this by now, try again', SOON),
  callerUnknownHere: () =>
    new Refusal(
      503,
      'caller_unknown_here',
      'The server of the farm that has this does not know these credentials yet, try again',
      SOON,
    ),
  hopMalformed: () =>
    new Refusal(
      400,
      'hop_malformed',
      'The request says that another server of the farm has forwarded it, and has no signature of that server',
    ),
  hopOutdated: () =>
    new Refusal(
      503,
      'hop_outdated',
      'The server of the farm that has forwarded the request does not know of a restart yet: nothing was done, try again',
      SOON,
    ),
  hopUsed: () =>
    new Refusal(
      400,
      'hop_used',
      'The request says that another server of the farm has forwarded it, which that server has done before: nothing was done',
    ),
} as const;
