/** The images of other servers that share theirs with this one, as the library of this host needs them. */
import type { Emulator } from './image-name.js';

/** The content of an image. */
export interface ImageContent {
  readonly size: number;
  readonly sha256: string;
  readonly md5?: string | undefined;
}

/** An image that only others have. */
export interface AwayImage extends ImageContent {
  readonly name: string;
  /** Reads the bytes from `start` on, before `end`, from whoever has them. */
  readonly read: (start: number, end: number, signal: AbortSignal) => Promise<Uint8Array>;
}

export interface ImagesElsewhere {
  /** Takes over what others were acknowledged before, as far as they can be heard. */
  catchUp(): Promise<unknown>;
  /** By name. */
  listed(emulator: Emulator): ReadonlyMap<string, ImageContent>;
  /** Undefined when no other has the image. Refuses (409) one of which others have different contents. */
  find(emulator: Emulator, name: string): AwayImage | undefined;
  /** Resolves when the image is on the disk of this host; with false when no other has it. Refuses (503) when none can give it. */
  fetch(emulator: Emulator, name: string): Promise<boolean>;
  /** Refuses (409) content that differs from what others have by this name. */
  check(emulator: Emulator, name: string, sha256: string | undefined): void;
  /** The content of an image of this host, as others know it. */
  shared(emulator: Emulator, name: string): ImageContent | undefined;
  /** The content of an image of this host is known. One that has not just landed may be a copy that is about to be deleted. */
  holds(emulator: Emulator, name: string, content: ImageContent, hasLanded: boolean): void;
  /** An image of this host is gone. */
  lost(emulator: Emulator, name: string): void;
  /** Resolves when enough servers have the image of this host. Refuses (503) when that cannot be: the image stays. */
  spread(emulator: Emulator, name: string): Promise<void>;
  /** Refuses (409) when nodes of other servers use the image. */
  checkUnused(emulator: Emulator, name: string): Promise<void>;
  /** Resolves with whether others had the image: it counts as gone everywhere, and each deletes its copy. */
  remove(emulator: Emulator, name: string): Promise<boolean>;
}
