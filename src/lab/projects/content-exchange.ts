/** How a project is held still, and how its content is exchanged together with files of its folder. */
import { refusals } from '../../base/errors/errors.js';
import type { Packed, Store } from '../../base/store/store.js';
import type { FolderExchange } from './folder-exchange.js';
import type { FolderGate } from './folder-gate.js';
import type { NewContent, ProjectHead } from './project-head.js';
import { keysOf } from './records.js';
import type { Topology } from '../topology/topology.js';
import type { Transaction } from './transaction.js';

/** The project, for what others may do, too. */
export interface ExchangedProject {
  readonly id: string;
  readonly gate: FolderGate;
  readonly isOpen: boolean;
  readonly text: string;
  /** Of the open project; refuses a closed one. */
  readonly topology: Topology;
  change<Result>(work: (topology: Topology, transaction: Transaction) => Result): Promise<Result>;
}

/** What only the project itself may do. */
export interface ExchangeSteps {
  /** With the lane to itself. */
  readonly exclusively: <Result>(work: () => Promise<Result>) => Promise<Result>;
  readonly reconcile: () => Promise<void>;
  /** Makes what is stored the content of the open project. */
  readonly load: () => Promise<void>;
  /** The project is closed then. */
  readonly drop: () => void;
}

export class ContentExchange {
  readonly #project: ExchangedProject;
  readonly #head: ProjectHead;
  readonly #store: Store;
  readonly #steps: ExchangeSteps;

  constructor(project: ExchangedProject, head: ProjectHead, store: Store, steps: ExchangeSteps) {
    this.#project = project;
    this.#head = head;
    this.#store = store;
    this.#steps = steps;
  }

  still<Result>(work: (records: Packed) => Promise<Result>): Promise<Result> {
    return this.#alone(async () => {
      await this.#steps.reconcile();
      return work(await this.#store.loadPacked(...keysOf(this.#project.id)));
    });
  }

  /** Readers see what there was until the new content runs. */
  replaceContent(content: NewContent, announce: () => void): Promise<string> {
    return this.#alone(async () => {
      await this.#head.checkExchange(content.exchange);
      await this.#project.topology.unload();
      let givenUp: string | undefined;
      try {
        await this.#head.replaceContent(content);
      } catch (error) {
        await this.#steps.load();
        throw error;
      }
      try {
        givenUp = await this.#head.finishExchange();
        await this.#steps.load();
      } catch (error) {
        this.#steps.drop();
        throw this.#head.isExchanging ? unfinished(error) : error;
      } finally {
        this.#head.publish(this.#project.isOpen ? 'opened' : 'closed');
      }
      if (givenUp !== undefined) throw refusals.exchangeGivenUp(givenUp);
      announce();
      return this.#project.text;
    });
  }

  changeWithFiles<Result>(
    exchange: FolderExchange,
    work: (topology: Topology, transaction: Transaction) => Result,
  ): Promise<Result> {
    return this.#project.gate.alone(async () => {
      await this.#finish();
      await this.#head.checkExchange(exchange);
      const result = await this.#project.change((topology, transaction) => {
        this.#head.begin(transaction, exchange);
        return work(topology, transaction);
      });
      const givenUp = await this.#finish().catch((error: unknown) => {
        throw unfinished(error);
      });
      if (givenUp !== undefined) throw refusals.exchangeGivenUp(givenUp);
      return result;
    });
  }

  /** First the gate, then the lane: who has the one and waits for the other must not meet who has the other. */
  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#project.gate.alone(async () => {
      await this.#finish();
      return this.#steps.exclusively(work);
    });
  }

  /** What a fault has left half done goes before anything else, since only one exchange is remembered. */
  #finish(): Promise<string | undefined> {
    return this.#steps.exclusively(() => this.#head.finishExchange());
  }
}

/** It is stored, and goes on when the project is opened: whoever asked must not think that nothing has happened. */
function unfinished(error: unknown): Error {
  return refusals.exchangeUnfinished(error instanceof Error ? error.message : String(error));
}
