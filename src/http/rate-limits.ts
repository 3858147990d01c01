/**
 * Limits of requests by caller: a bucket of tokens for reads and one for changes. Each fills up within a second, so a caller
 * may send at once what is allowed in one second.
 */
import { refusals } from '../base/errors/errors.js';
import type { Caller } from './caller.js';

/** Requests in a second; 0 is no limit. */
export interface Rates {
  readonly reads: number;
  readonly changes: number;
}

interface RateLimitsOptions {
  /** Undefined when nothing is limited. */
  readonly rates: () => Rates | undefined;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** The callers that are remembered; the one that was first seen longest ago goes first. */
const MOST_BUCKETS = 10_000;
const RETRY_SECONDS = 1;

export class RateLimits {
  readonly #options: RateLimitsOptions;
  readonly #reads = new Map<string, Bucket>();
  readonly #changes = new Map<string, Bucket>();

  constructor(options: RateLimitsOptions) {
    this.#options = options;
  }

  /** Refuses (429) a request of a caller who sends too many. Callers whom no record has are told apart by their address. */
  check({ userId, name }: Pick<Caller, 'userId' | 'name'>, address: string, isChange: boolean): void {
    const rates = this.#options.rates();
    if (rates === undefined) return;
    const rate = isChange ? rates.changes : rates.reads;
    if (rate === 0) return;
    const buckets = isChange ? this.#changes : this.#reads;
    if (!this.#takes(buckets, userId ?? `${name} ${address}`, rate))
      throw refusals.tooManyRequests(RETRY_SECONDS);
  }

  #takes(buckets: Map<string, Bucket>, key: string, rate: number): boolean {
    const now = this.#options.now();
    const bucket = buckets.get(key) ?? newBucket(buckets, key, { tokens: rate, filledAt: now });
    bucket.tokens = Math.min(rate, bucket.tokens + ((now - bucket.filledAt) * rate) / 1000);
    bucket.filledAt = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens--;
    return true;
  }
}

function newBucket(buckets: Map<string, Bucket>, key: string, bucket: Bucket): Bucket {
  buckets.set(key, bucket);
  const [oldest = key] = buckets.keys();
  if (buckets.size > MOST_BUCKETS) buckets.delete(oldest);
  return bucket;
}
