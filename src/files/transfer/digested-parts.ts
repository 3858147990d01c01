/** The digests of uploads that come in several requests: they go on from one request to the next. Of one transfer loop. */
import type { DigestName } from './landing.js';
import type { DigestedPart } from './transfer-orders.js';
import { UnwrittenContent } from './unwritten-content.js';

const MOST = 1000;

export class DigestedParts {
  /** By the paths of their files; those that went on last come last. */
  readonly #parts = new Map<string, UnwrittenContent>();

  /** Nothing is digested of a part whose first bytes are not known here, or not those that its file has. */
  goOn({ path, position }: DigestedPart, digests: readonly DigestName[]): UnwrittenContent {
    const known = this.#parts.get(path);
    const content =
      position > 0 && known?.size === position ? known : new UnwrittenContent(position === 0 ? digests : []);
    this.#parts.delete(path);
    this.#parts.set(path, content);
    const [oldest] = this.#parts.keys();
    if (this.#parts.size > MOST && oldest !== undefined) this.#parts.delete(oldest);
    return content;
  }
}
