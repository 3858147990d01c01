/** The refusals of other computes, and of what this server does with them. */
import { Refusal, shortened } from './refusal.js';

export const otherComputeRefusals = {
  computeRefused: (compute: string, status: number, message: string) =>
    new Refusal(status, 'compute_refused', `Compute ${shortened(compute)}: ${message}`),
  computeLacksImage: (compute: string, image: string) =>
    new Refusal(
      409,
      'compute_lacks_image',
      `Compute ${shortened(compute)} does not have the image ${shortened(image)}, and it is not here either: upload it to one of them`,
      { details: { exception: 'ImageMissingError', image: shortened(image) } },
    ),
  computeUnauthorized: (compute: string) =>
    new Refusal(
      409,
      'compute_unauthorized',
      `Compute ${shortened(compute)} does not accept the user and the password on record`,
    ),
  computeSilent: (compute: string, reason: string) =>
    new Refusal(409, 'compute_silent', `Compute ${shortened(compute)} did not answer: ${reason}`),
  notACompute: (compute: string) =>
    new Refusal(409, 'not_a_compute', `The server ${shortened(compute)} is not a GNS3 server`),
  computeOfOtherVersion: (own: string, compute: string, its: string) =>
    new Refusal(
      409,
      'compute_of_other_version',
      `GNS3 controller version ${own} is not the same as compute ${shortened(compute)} version ${its}`,
    ),
  computeOfOther: (compute: string, epoch: number) =>
    new Refusal(
      409,
      'compute_of_other',
      `Compute ${shortened(compute)} runs this project for another controller, which is at epoch ${epoch}`,
    ),
  computeIsSelf: () => new Refusal(409, 'compute_is_self', 'This compute is the server itself'),
  requestNotPassedOn: (compute: string, request: string) =>
    new Refusal(
      409,
      'request_not_passed_on',
      `${request} is not passed on to other computes: ask compute ${shortened(compute)} itself`,
    ),
  computeLacksKind: (compute: string, type: string) =>
    new Refusal(409, 'compute_lacks_kind', `Compute ${shortened(compute)} cannot run nodes of type ${type}`),
  computeDrained: (compute: string) =>
    new Refusal(409, 'compute_drained', `Compute ${shortened(compute)} is drained: it takes no new nodes`),
  computeNotDrainable: () =>
    new Refusal(
      409,
      'compute_not_drainable',
      'This server is not drained as a compute: POST /v2/admin/drain drains all of it',
    ),
  noComputeHasRoom: (lacks: string) =>
    new Refusal(409, 'no_compute_has_room', `No compute can have this node: ${lacks}`),
  linkOutOfReach: () =>
    new Refusal(409, 'link_out_of_reach', 'A node of this link is on a compute that is not connected'),
  captureBeyondCompute: (compute: string, fields: string) =>
    new Refusal(
      409,
      'capture_beyond_compute',
      `Compute ${shortened(compute)} is of GNS3 and cannot capture with ${fields}`,
    ),
  captureUntold: (compute: string) =>
    new Refusal(
      409,
      'capture_untold',
      `Compute ${shortened(compute)} does not tell the state of this capture`,
    ),
  notOnOtherComputes: (what: string, names: string) =>
    new Refusal(
      409,
      'not_on_other_computes',
      `${what} is not possible for nodes on other computes than this server: ${names}`,
    ),
} as const;
