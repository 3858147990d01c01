/**
 * Brings an image to the disk of this host: pieces from all servers that have it, some ahead of the writing, checked by the digest of
 * the whole, and landed as an upload is. After wrong bytes from one of several servers, each is asked for all of it.
 */
import type { Logger } from 'pino';
import { isRefusal, refusals } from '../../base/errors/errors.js';
import type { Landing } from '../../files/transfer/landing.js';
import type { Transfers } from '../../files/transfer/transfers.js';
import type { Holder, ImagePieces, SharedImage } from './image-pieces.js';

interface ImagePull {
  readonly image: SharedImage;
  readonly pieces: ImagePieces;
  /** The servers that have it now. */
  readonly holders: () => readonly Holder[];
  readonly transfers: Pick<Transfers, 'begin'>;
  readonly landing: Landing;
  readonly log: Logger;
}

const PIECE_LENGTH = 4 * 1024 * 1024;
/** Pieces that are on their way or wait to be written. */
const PIECES_AHEAD = 3;
/** So much is written between two looks at whether the disk keeps up. */
const STEP_LENGTH = 64 * 1024;

/** Resolves when the image has landed. Refuses (503) when nobody gives it. */
export async function pullImage(pull: ImagePull): Promise<void> {
  const { image, pieces, holders } = pull;
  const from = await attempt(pull, holders);
  if (from === undefined) return;
  // Which of several has given the wrong bytes is not known.
  const [only = ''] = from;
  const asked = new Set(from.size === 1 ? [only] : []);
  if (from.size === 1) pieces.avoid(only, image);
  for (let next = untried(pull, asked); next !== undefined; next = untried(pull, asked)) {
    asked.add(next);
    const isNext = ({ id }: Holder): boolean => id === next;
    try {
      if ((await attempt(pull, () => holders().filter(isNext))) === undefined) return;
      pieces.avoid(next, image);
    } catch (error) {
      if (!isRefusal(error, 'image_out_of_reach')) throw error;
    }
  }
  throw refusals.imageOutOfReach(image.name);
}

function untried({ holders }: ImagePull, asked: ReadonlySet<string>): string | undefined {
  return holders().find(({ id }) => !asked.has(id))?.id;
}

/** Resolves with undefined when the image has landed, and otherwise with the servers that have given bytes, of which some were wrong. */
async function attempt(
  { image, pieces, transfers, landing }: ImagePull,
  holders: () => readonly Holder[],
): Promise<ReadonlySet<string> | undefined> {
  const { size, sha256 } = image;
  const from = new Set<string>();
  const ending = new AbortController();
  const pace = new Pace();
  const upload = transfers.begin(landing, { size, digests: [], client: 'other servers' }, pace);
  const ahead: Promise<Uint8Array>[] = [];
  let begun = 0;
  const begin = (): void => {
    const range = { start: begun, end: Math.min(size, begun + PIECE_LENGTH) };
    begun = range.end;
    const piece = pieces.read(image, holders(), range, ending.signal).then(({ bytes, from: holder }) => {
      from.add(holder);
      return bytes;
    });
    // Nobody waits for those behind one that fails.
    piece.catch(() => undefined);
    ahead.push(piece);
  };
  try {
    while (begun < size && ahead.length < PIECES_AHEAD) begin();
    for (let piece = ahead.shift(); piece !== undefined; piece = ahead.shift()) {
      const bytes = await piece;
      if (begun < size) begin();
      for (let offset = 0; offset < bytes.length; offset += STEP_LENGTH) {
        upload.write(bytes.subarray(offset, offset + STEP_LENGTH));
        await Promise.race([pace.free, upload.failure]);
      }
    }
    const { digests } = await upload.finish();
    if (digests['sha-256'] !== sha256) {
      await upload.drop();
      return from;
    }
  } catch (error) {
    ending.abort();
    await upload.drop();
    throw error;
  }
  await upload.land();
  return undefined;
}

/** Holds the writing while the disk does not keep up. */
class Pace {
  free: Promise<void> = Promise.resolve();
  #resume: () => void = () => undefined;

  pause(): void {
    this.free = new Promise((resolve) => (this.#resume = resolve));
  }

  resume(): void {
    this.#resume();
  }
}
