/** The secret that the servers of a farm share, with which they sign what they tell each other. It goes over no connection. */
import { createHmac, timingSafeEqual } from 'node:crypto';

const FEWEST_CHARACTERS = 32;

export class HopCredential {
  readonly #secret: string;

  constructor(secret: string) {
    if (secret.length < FEWEST_CHARACTERS) throw new Error('the secret of the farm is too short');
    this.#secret = secret;
  }

  /** The signature of texts, each of which counts on its own. */
  sign(texts: readonly string[]): string {
    return this.#digest(texts).toString('base64url');
  }

  /** Whether a server of the farm has signed these texts; how long this takes tells nothing. */
  hasSigned(texts: readonly string[], signature: string): boolean {
    const [expected, shown] = [this.#digest(texts), Buffer.from(signature, 'base64url')];
    return shown.length === expected.length && timingSafeEqual(shown, expected);
  }

  #digest(texts: readonly string[]): Buffer {
    return createHmac('sha256', this.#secret).update(JSON.stringify(texts)).digest();
  }
}
