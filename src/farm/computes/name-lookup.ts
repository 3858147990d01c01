/**
 * Addresses of computes by their names, one lookup at a time: each holds a thread of the few that the whole process has
 * for files and names, for as long as a name server is silent.
 */
import { lookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';

const pending = new Map<string, Promise<LookupAddress[]>>();
let last: Promise<unknown> = Promise.resolve();

/** IPv4 comes first. */
export function addressesOf(name: string): Promise<LookupAddress[]> {
  const asked = pending.get(name);
  if (asked !== undefined) return asked;
  const found = last.then(
    () =>
      new Promise<LookupAddress[]>((resolve, reject) => {
        lookup(name, { all: true, order: 'ipv4first' }, (error, addresses) => {
          pending.delete(name);
          if (error === null) resolve(addresses);
          else reject(error);
        });
      }),
  );
  pending.set(name, found);
  last = found.catch(() => undefined);
  return found;
}

export const lookupInTurn: LookupFunction = (name, { all }, callback) => {
  addressesOf(name).then(
    (addresses) => {
      const [first = { address: '', family: 4 }] = addresses;
      if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    },
    (error: unknown) => {
      callback(error as NodeJS.ErrnoException, '');
    },
  );
};
