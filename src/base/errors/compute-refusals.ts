/** The refusals of the compute side. */
import { Refusal } from './refusal.js';

export const computeRefusals = {
  idNoUuid: (what: string, id: string) => new Refusal(400, `${what} ID ${id} is not a valid UUID`),
  nodeOfOtherProject: (project: string, node: string) =>
    new Refusal(404, `Project ID ${project} doesn't belong to node ${node}`),
  nodeIdTaken: (id: string) => new Refusal(409, `Node ID ${id} is already used by another node`),
  tooMany: (what: string, limit: number) => new Refusal(409, `There are too many ${what}: at most ${limit}`),
  engineFull: (reason: string) => new Refusal(409, `The packet engine has no room left: ${reason}`),
  portOccupied: (port: number) => new Refusal(409, `Port ${port} isn't free`),
  portUnattached: (port: number) => new Refusal(409, `Port ${port} is not allocated`),
  portMissing: (port: number) => new Refusal(409, `Port ${port} doesn't exist`),
  nioNotSupported: (type: string) => new Refusal(409, `NIO of type ${type} is not supported`),
  udpNotConnected: (host: string, port: number, reason: string) =>
    new Refusal(409, `Could not create an UDP connection to ${host}:${port}: ${reason}`),
  interfaceDown: (kind: string, name: string) => new Refusal(409, `${kind} interface ${name} is down`),
  interfaceNotAllowed: (name: string) =>
    new Refusal(
      409,
      `Could not attach to the interface ${name}: this server's --nio-interfaces do not have it`,
    ),
  nioNotOpened: (what: string, reason: string) => new Refusal(409, `Could not attach to ${what}: ${reason}`),
  udpPortsTaken: (first: number, last: number, reason: string) =>
    new Refusal(
      409,
      `Could not find a free port between ${first} and ${last} on host 0.0.0.0, last exception: ${reason}`,
    ),
} as const;
