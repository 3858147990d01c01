/**
 * Uploads of images, which go on on any page of the console. One that was cut off goes on by itself; one that a reload of the
 * page has ended goes on when the same file is chosen again.
 */
import { signal, type Signal } from '@preact/signals';
import { uploadPlace, type ImageKind } from '../api/images.js';
import { failed, sentenceOf, tell } from './toasts.js';
import { TEXTS } from '../texts.js';

type UploadState = 'sending' | 'waiting' | 'paused' | 'finished' | 'failed';

export interface ImageUpload {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly sent: Signal<number>;
  readonly state: Signal<UploadState>;
  readonly pause: () => void;
  readonly goOn: () => void;
  /** Ends it, and removes what the server has of it. */
  readonly cancel: () => void;
}

const LONGEST_REST_MS = 10_000;
/** A laptop may be closed for hours. */
const MOST_RESTS = 10_000;
const RESTS_MS = [0, 1000, 3000, 5000, ...new Array<number>(MOST_RESTS).fill(LONGEST_REST_MS)];
/** The server may still be busy with the request that broke off: so often it is asked again. */
const MOST_CONFLICTS = 5;
const CONFLICTS = [409, 423];
const MEBI = 1024 * 1024;
/** A request each: so much is sent again at most when a connection breaks. */
const PIECE = 64 * MEBI;

export const imageUploads = signal<readonly ImageUpload[]>([]);
let lastId = 0;

/** Begins to send the file, or goes on where an earlier page has ended. */
export async function upload(kind: ImageKind, file: File): Promise<void> {
  const { Upload } = await import('tus-js-client');
  const sent = signal(0);
  const state = signal<UploadState>('sending');
  const id = ++lastId;
  const sending = new Upload(file, {
    ...uploadPlace(),
    chunkSize: PIECE,
    retryDelays: RESTS_MS,
    removeFingerprintOnSuccess: true,
    metadata: { emulator: kind, filename: file.name },
    onProgress: (octets) => {
      sent.value = octets;
      state.value = 'sending';
    },
    onShouldRetry: (error, attempt) => {
      const mayWork = isWorthAnother(statusOf(error), attempt);
      if (mayWork) state.value = 'waiting';
      return mayWork;
    },
    onSuccess: () => {
      sent.value = file.size;
      state.value = 'finished';
      tell(TEXTS.images.uploaded(file.name));
    },
    onError: (error) => {
      state.value = 'failed';
      failed(new Error(`${file.name}: ${refusalOf(error)}`));
    },
  });
  const begin = async (): Promise<void> => {
    state.value = 'sending';
    const [earlier] = await sending.findPreviousUploads();
    if (earlier !== undefined) sending.resumeFromPreviousUpload(earlier);
    sending.start();
  };
  const shown: ImageUpload = {
    ...{ id, name: file.name, size: file.size, sent, state },
    pause: () => {
      state.value = 'paused';
      void sending.abort();
    },
    goOn: () => void begin(),
    cancel: () => {
      imageUploads.value = imageUploads.value.filter((other) => other.id !== id);
      // The server forgets it by itself when this does not reach it.
      if (state.value !== 'finished') sending.abort(true).catch(() => undefined);
    },
  };
  imageUploads.value = [...imageUploads.value, shown];
  await begin();
}

interface Reply {
  getBody(): string;
  getStatus(): number;
}

/** The server's answer, if there was one. */
function replyOf(error: Error): Reply | undefined {
  const { originalResponse } = error as { originalResponse?: Reply | null };
  return originalResponse ?? undefined;
}

/** Without an answer it is 0. */
const statusOf = (error: Error): number => replyOf(error)?.getStatus() ?? 0;

function isWorthAnother(status: number, attempt: number): boolean {
  if (CONFLICTS.includes(status)) return attempt < MOST_CONFLICTS;
  return status < 400 || status >= 500;
}

/** The server's sentence, where there is one. */
function refusalOf(error: Error): string {
  try {
    const { message } = JSON.parse(replyOf(error)?.getBody() ?? '') as { message?: unknown };
    if (typeof message === 'string') return message;
  } catch {
    // No answer, or one of a proxy.
  }
  return sentenceOf(error);
}
