/** The members of a zip archive. */

export const ZIP_METHODS = { none: 0, zip: 8, bzip2: 12, lzma: 14 } as const;
/** As the interface calls them (contract C.2). */
export type Compression = keyof typeof ZIP_METHODS;

export interface ZipMember {
  /** With slashes, relative, normal: nothing that would leave where it is unpacked. Of a folder without the last slash. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  /** Of the content; of a link, of its target's text. */
  readonly size: number;
  readonly compressedSize: number;
  readonly crc32: number;
  readonly compression: Compression;
  /** Of the compressed bytes, in the archive's file. */
  readonly position: number;
  /** The permissions, when the archive tells. */
  readonly mode: number | undefined;
  readonly modifiedMs: number;
}
