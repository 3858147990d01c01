/** The entries of folders on disks that are formatted with FAT. */

export const SECTOR = 512;
/** The bytes of an entry. */
export const ENTRY = 32;
/** The attributes of entries. */
export const FOLDER = 0x10;
export const VOLUME_LABEL = 0x08;
export const LONG_NAME = 0x0f;
/** The mark of the part of a long name that is its end, and comes first. */
export const LAST_PART = 0x40;
/** The places of the characters of a long name in an entry. */
export const characterPlaces = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
export const CHARACTERS_OF_ENTRY = characterPlaces.length;

/** Joins a long name to its entry: the eleven characters of the short name, without the dot. */
export function shortNameSum(name: Uint8Array): number {
  return name.subarray(0, 11).reduce((sum, byte) => (((sum & 1) << 7) + (sum >> 1) + byte) & 0xff, 0);
}
