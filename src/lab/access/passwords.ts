/** Passwords are hashed and checked on threads of their own. Work that finds them busy waits, and not for long. */
import { refusals } from '../../base/errors/errors.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { PasswordTasks } from './password-tasks.js';

interface PasswordsOptions {
  readonly threads: TaskRunner<PasswordTasks>;
  /** So many checks run at once. */
  readonly atOnce: number;
}

const LONGEST_WAIT_MS = 10_000;
const RETRY_SECONDS = 5;
const MOST_WAITING = 200;

export class Passwords {
  readonly #options: PasswordsOptions;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: PasswordsOptions) {
    this.#options = options;
  }

  /** Refuses (503) after a while without a turn. */
  hash(password: string): Promise<string> {
    return this.#inTurn(() => this.#options.threads.run('hashPassword', { password }));
  }

  /** Whether the hash is that of the password; null is the hash of an unknown user. Refuses (503) like `hash`. */
  check(password: string, hash: string | null): Promise<boolean> {
    return this.#inTurn(() => this.#options.threads.run('checkPassword', { password, hash }));
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#options.atOnce) await this.#turn();
    else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  /** Waits until work that ends hands over its turn. */
  #turn(): Promise<void> {
    if (this.#waiting.length >= MOST_WAITING) throw refusals.tooManySignIns(RETRY_SECONDS);
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(refusals.tooManySignIns(RETRY_SECONDS));
      }, LONGEST_WAIT_MS);
      this.#waiting.push(begin);
    });
  }
}
