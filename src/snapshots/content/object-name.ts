/**
 * The names of objects, the files of a content store. A snapshot adds at most one pack, which holds the chunks of many
 * files, and files of their own that share blocks with those of the project. Pure.
 */

export const CONTENT = 'content';

/** Who stores says which: no two stores have the same. */
const STORE_ID = /^[0-9a-z-]{1,64}$/;
const OBJECT = /^[0-9a-z-]{1,64}\.(pack|\d{1,9})$/;

export function isStoreId(id: string): boolean {
  return STORE_ID.test(id);
}

export function isObject(name: string): boolean {
  return OBJECT.test(name);
}

export function packOf(storeId: string): string {
  return `${storeId}.pack`;
}

export function isPack(object: string): boolean {
  return object.endsWith('.pack');
}

export function cloneOf(storeId: string, number: number): string {
  return `${storeId}.${number}`;
}

/** Beside a pack: which chunks are in it. Only finding what is stored already needs it. */
export function indexOf(pack: string): string {
  return pack.replace(/pack$/, 'index');
}

/** Beside an object in which damage was found: nothing that is stored from then on relies on it. */
export function damageMarkOf(object: string): string {
  return `${object}.damaged`;
}

/** Of what lies in the folder of the objects: the object that it is, or stands beside; undefined of what is not ours. */
export function objectBehind(name: string): string | undefined {
  const object = name.replace(/\.index$/, '.pack').replace(/\.damaged$/, '');
  return isObject(object) ? object : undefined;
}
