/** A program of this folder in a process of its own: takes its plan as JSON on standard input, prints lines of JSON. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export class Program {
  readonly #name: string;
  readonly #lines: AsyncIterator<string>;

  private constructor(name: string, lines: AsyncIterator<string>) {
    this.#name = name;
    this.#lines = lines;
  }

  static start(name: string, plan: object): Program {
    const file = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
    const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(JSON.stringify(plan));
    return new Program(name, createInterface({ input: child.stdout })[Symbol.asyncIterator]());
  }

  /** Reads the next report of the program, of the type that the caller expects. */
  async report<Report>(): Promise<Report> {
    const line = await this.#lines.next();
    if (line.done === true) throw new Error(`${this.#name} has failed`);
    return JSON.parse(line.value) as Report;
  }
}

/** On the program's side. */
export async function readPlan<Plan>(): Promise<Plan> {
  return (await json(process.stdin)) as Plan;
}

export function print(report: unknown): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}
