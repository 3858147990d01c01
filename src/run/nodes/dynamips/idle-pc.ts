/**
 * The search for an idle-PC value: the address of the loop in which an IOS image waits. A router that knows it sleeps
 * there; without one it takes a whole processor.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { refusals } from '../../../base/errors/errors.js';
import type { ProgramNode } from '../program-node.js';
import type { Hypervisor } from './hypervisor.js';
import type { RouterRun } from './router-run.js';

/** A router that was started for the search gets so long to boot. */
const BOOT_MS = 20_000;
const LOOK_MS = 500;
/** Dynamips measures for ten seconds. */
const SEARCH_MS = 60_000;
/** So long a value is tried, and it is good when the router takes less of a processor than this. */
const TRIAL_MS = 3000;
const MOST_USE = 0.7;
/** A search takes a processor for half a minute. */
const MOST_SEARCHES = 2;
const PROPOSAL = /^(0x[0-9a-f]{1,16}) \[[0-9]+\]$/;
const NONE = '0x0';

type RunOf = (nodeId: string) => RouterRun | undefined;

/** The client that waits for the answer: when it has gone, the search ends. */
interface Client {
  readonly isGone: boolean;
}

export class IdlePcSearches {
  readonly #runOf: RunOf;
  readonly #searched = new Set<ProgramNode>();

  constructor(runOf: RunOf) {
    this.#runOf = runOf;
  }

  /** The proposals of Dynamips, each an address and how often the router was found there. */
  proposals(node: ProgramNode, client: Client): Promise<string[]> {
    return this.#onRouter(node, client, (run, hypervisor) => proposalsOf(run, hypervisor));
  }

  /** The first value with which the router leaves the processor in peace. Refuses (409) when there is none. */
  find(node: ProgramNode, client: Client): Promise<string> {
    return this.#onRouter(node, client, async (run, hypervisor) => {
      for (const proposal of await proposalsOf(run, hypervisor)) {
        checkClient(client);
        const [, value = NONE] = PROPOSAL.exec(proposal) ?? [];
        await hypervisor.ask('vm set_idle_pc_online', [run.routerName, 0, value]);
        if ((await useOf(run, hypervisor)) < MOST_USE) return value;
      }
      throw refusals.idlePcNotFound(node.name);
    });
  }

  /** Does the work on a router that runs; one that does not is started, and stopped afterwards. */
  async #onRouter<Result>(
    node: ProgramNode,
    client: Client,
    work: (run: RouterRun, hypervisor: Hypervisor) => Promise<Result>,
  ): Promise<Result> {
    if (this.#searched.has(node)) throw refusals.idlePcSearched(node.name);
    if (this.#searched.size >= MOST_SEARCHES)
      throw refusals.tooMany('searches for idle-PC values at once', MOST_SEARCHES);
    this.#searched.add(node);
    const wasStopped = node.status === 'stopped';
    try {
      await node.start();
      if (wasStopped) await this.#boot(node, client);
      const run = this.#runOf(node.id);
      if (run === undefined) throw refusals.idlePcNotFound(node.name);
      return await withHypervisor(run, (hypervisor) => work(run, hypervisor));
    } finally {
      this.#searched.delete(node);
      if (wasStopped) await node.stop();
    }
  }

  async #boot(node: ProgramNode, client: Client): Promise<void> {
    for (let waited = 0; waited < BOOT_MS; waited += LOOK_MS) {
      checkClient(client);
      if (this.#runOf(node.id) === undefined) return;
      await delay(LOOK_MS);
    }
  }
}

async function withHypervisor<Result>(
  run: RouterRun,
  work: (hypervisor: Hypervisor) => Promise<Result>,
): Promise<Result> {
  const hypervisor = await run.anotherHypervisor();
  try {
    return await work(hypervisor);
  } finally {
    hypervisor.close();
    // The value of the node holds again.
    await run.update().catch(() => undefined);
  }
}

async function proposalsOf(run: RouterRun, hypervisor: Hypervisor): Promise<string[]> {
  await hypervisor.ask('vm set_idle_pc_online', [run.routerName, 0, NONE]);
  const lines = await hypervisor.ask('vm get_idle_pc_prop', [run.routerName, 0], SEARCH_MS);
  return lines.filter((line) => PROPOSAL.test(line));
}

/** The part of a processor that the router takes. */
async function useOf(run: RouterRun, hypervisor: Hypervisor): Promise<number> {
  const before = await secondsOf(run, hypervisor);
  await delay(TRIAL_MS);
  return ((await secondsOf(run, hypervisor)) - before) / (TRIAL_MS / 1000);
}

/** The seconds of a processor that the router has taken so far. */
async function secondsOf(run: RouterRun, hypervisor: Hypervisor): Promise<number> {
  const [seconds] = await hypervisor.ask('vm cpu_usage', [run.routerName, 0]);
  return Number(seconds);
}

function checkClient(client: Client): void {
  if (client.isGone) throw refusals.clientGone();
}
