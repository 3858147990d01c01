/**
 * Passwords are hashed and checked on threads of their own. Work that finds them busy waits, and not for long. Clients take
 * turns, so that one with many wrong passwords does not keep the others out.
 */
import { refusals } from '../../base/errors/errors.js';
import { FairTurns } from '../../base/threads/fair-turns.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { PasswordTasks } from './password-tasks.js';

interface PasswordsOptions {
  readonly threads: TaskRunner<PasswordTasks>;
  /** So many checks run at once. */
  readonly atOnce: number;
}

const LONGEST_WAIT_MS = 10_000;
const RETRY_SECONDS = 5;
const MOST_WAITING = 1000;
/** Enough for a class behind one address. */
const MOST_WAITING_OF_CLIENT = 100;
/** The owner of the turns in which new passwords are hashed, which only admins set. */
const NEW_PASSWORDS = 'new passwords';

export class Passwords {
  readonly #threads: TaskRunner<PasswordTasks>;
  readonly #turns: FairTurns;

  constructor({ threads, atOnce }: PasswordsOptions) {
    this.#threads = threads;
    this.#turns = new FairTurns({
      ...{ atOnce, atOnceOfOne: atOnce },
      ...{ mostWaiting: MOST_WAITING, mostWaitingOfOne: MOST_WAITING_OF_CLIENT },
    });
  }

  /** Refuses (503) after a while without a turn. */
  hash(password: string): Promise<string> {
    return this.#inTurn(NEW_PASSWORDS, () => this.#threads.run('hashPassword', { password }));
  }

  /**
   * Whether the hash is that of the password, which a client has sent from this address; null is the hash of an unknown
   * user. Refuses (503) like `hash`.
   */
  check(password: string, hash: string | null, address: string): Promise<boolean> {
    return this.#inTurn(address, () => this.#threads.run('checkPassword', { password, hash }));
  }

  #inTurn<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const refuse = (): void => {
        isLate = true;
        reject(refusals.tooManySignIns(RETRY_SECONDS));
      };
      const timer = setTimeout(refuse, LONGEST_WAIT_MS);
      const begin = async (): Promise<void> => {
        clearTimeout(timer);
        if (!isLate) await work().then(resolve, reject);
      };
      this.#turns.run(owner, begin).catch(() => {
        clearTimeout(timer);
        refuse();
      });
    });
  }
}
