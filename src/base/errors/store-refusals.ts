/** The refusals of a store of several servers. */
import { Refusal } from './refusal.js';

const RETRY_SECONDS = 1;

export const storeRefusals = {
  claimLost: (scope: string): Refusal =>
    new Refusal(503, 'claim_lost', `Another server may have taken over ${scope}: ask again`, {
      retryAfterSeconds: RETRY_SECONDS,
    }),
  projectNameHeld: (): Refusal =>
    new Refusal(
      503,
      'project_name_held',
      'Another server of the farm gives this name to a project at the moment: nothing was done, try again',
      { retryAfterSeconds: RETRY_SECONDS },
    ),
  roomHeld: (): Refusal =>
    new Refusal(
      503,
      'room_held',
      'Other servers of the farm place nodes on this host at the moment: nothing was done, try again',
      { retryAfterSeconds: RETRY_SECONDS },
    ),
  farmSilent: (): Refusal =>
    new Refusal(
      503,
      'farm_silent',
      'This server has heard nothing from the farm for ten seconds, and does not know whether these credentials still count: ' +
        'it changes nothing for them until it has',
      { retryAfterSeconds: RETRY_SECONDS },
    ),
  storeUnreachable: (cause?: unknown): Refusal =>
    new Refusal(503, 'store_unreachable', 'The servers of the store do not answer, or not enough of them', {
      retryAfterSeconds: RETRY_SECONDS,
      cause,
    }),
  changeUnsettled: (): Refusal =>
    new Refusal(
      502,
      'change_unsettled',
      'The servers of the store went away while the change was stored: look whether it was done when they are back',
    ),
  storeForbidden: (reason: string, cause?: unknown): Refusal =>
    new Refusal(503, 'store_forbidden', `etcd does not let this server in: ${reason}`, {
      retryAfterSeconds: RETRY_SECONDS,
      cause,
    }),
  storeFull: (): Refusal => new Refusal(507, 'store_full', 'The store of the farm has reached its quota'),
  recordTooLarge: (): Refusal =>
    new Refusal(413, 'record_too_large', 'A record is larger than the store of the farm takes'),
};
