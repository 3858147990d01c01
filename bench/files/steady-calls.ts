/** A client that calls at a steady rate, and never waits for an answer before it sends the next call. */
import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';

export interface SteadyPlan {
  readonly url: string;
  readonly method: string;
  readonly bodyOf?: (call: number) => object;
  readonly perSecond: number;
}

export class SteadyCalls {
  readonly #plan: SteadyPlan;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #answers: Promise<number | Error>[] = [];
  readonly #calling: Promise<void>;
  #isStopped = false;

  /** Starts at once. */
  constructor(plan: SteadyPlan) {
    this.#plan = plan;
    this.#calling = this.#callOn();
  }

  /** No call is sent any more. */
  end(): void {
    this.#isStopped = true;
  }

  /** Ends; when every call is answered: the milliseconds of each. */
  async stop(): Promise<number[]> {
    this.end();
    await this.#calling;
    const answers = await Promise.all(this.#answers);
    this.#agent.destroy();
    return answers.map((answer) => {
      if (answer instanceof Error) throw answer;
      return answer;
    });
  }

  async #callOn(): Promise<void> {
    const start = performance.now();
    for (let call = 0; !this.#isStopped; call++) {
      await setTimeout(Math.max(0, start + (call * 1000) / this.#plan.perSecond - performance.now()));
      this.#answers.push(this.#call(call));
    }
  }

  #call(call: number): Promise<number | Error> {
    const { url, method, bodyOf } = this.#plan;
    const sentAt = performance.now();
    return new Promise((resolve) => {
      const sent = request(url, { method, agent: this.#agent }, (response) => {
        response.resume();
        response.on('error', resolve);
        response.on('end', () => {
          if (response.statusCode === 200) resolve(performance.now() - sentAt);
          else resolve(new Error(`${method} ${url}: ${String(response.statusCode)}`));
        });
      });
      sent.on('error', resolve);
      sent.end(bodyOf === undefined ? undefined : JSON.stringify(bodyOf(call)));
    });
  }
}
