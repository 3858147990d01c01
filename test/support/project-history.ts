/**
 * Clients that make, delete, open, close, fill and duplicate a few projects at the same time, on a server that is killed
 * between; and a model of one project that tells whether there is an order in which it could have answered so.
 */
import type { Test } from 'tap';
import { asideNames, projectFolders } from './aside-folders.js';
import { Client, Unanswered, type Reply } from './client.js';
import { Random } from './random.js';
import { scratchFolder } from './scratch.js';
import { startServer } from './server-process.js';

const CLIENTS = 4;
const PROJECTS = 3;
const ACTIONS = [
  'create',
  'create',
  'delete',
  'open',
  'close',
  'fill',
  'fill',
  'count',
  'duplicate',
] as const;
type Action = (typeof ACTIONS)[number];

/** A project as the model knows it: how many nodes it has; undefined when there is none. */
type State = { readonly isOpen: boolean; readonly nodes: number } | undefined;

/** Something that was asked, and what came of it; unanswered, it may have happened or not. */
interface Event {
  readonly action: Action;
  readonly begun: number;
  readonly ended: number;
  readonly answer: { readonly status: number; readonly nodes?: number } | undefined;
}

export interface HistoryPlan {
  readonly seed: number;
  /** Each ends with a kill. */
  readonly lives: number;
  readonly actionsOfLife: number;
}

/** The states after the action, when this answer is possible; unanswered, those of both outcomes. */
function after(state: State, { action, answer }: Event): State[] {
  const told = (status: number, next: State): State[] =>
    answer === undefined ? [state, next] : answer.status === status ? [next] : [];
  // An answer that says nothing of the project.
  if (answer?.status === 409) return [state];
  if (action === 'create') return told(201, state ?? { isOpen: true, nodes: 0 });
  if (state === undefined) return told(404, undefined);
  switch (action) {
    case 'delete':
      return told(204, undefined);
    case 'open':
      return told(201, { ...state, isOpen: true });
    case 'close':
      return told(204, { ...state, isOpen: false });
    case 'fill':
      return state.isOpen ? told(201, { ...state, nodes: state.nodes + 1 }) : told(403, state);
    case 'count':
      return told(200, state).filter(() => answer === undefined || answer.nodes === state.nodes);
    case 'duplicate':
      return told(201, state).filter(() => answer?.nodes === undefined || answer.nodes === state.nodes);
  }
}

/** The states in which the project may be after these events, from one of those before; none: no order explains them. */
export function possibleStates(before: readonly State[], events: readonly Event[]): State[] {
  const found = new Map<string, State>();
  const seen = new Set<string>();
  const walk = (state: State, done: ReadonlySet<Event>): void => {
    const key = `${JSON.stringify(state)} ${events.map((event) => Number(done.has(event))).join('')}`;
    if (seen.has(key)) return;
    seen.add(key);
    const left = events.filter((event) => !done.has(event));
    if (left.length === 0) found.set(JSON.stringify(state), state);
    const first = Math.min(...left.map(({ ended }) => ended));
    for (const event of left) {
      if (event.begun > first) continue;
      for (const next of after(state, event)) walk(next, new Set([...done, event]));
    }
  };
  for (const state of before) walk(state, new Set());
  return [...found.values()];
}

/** After a crash it may be open or closed, */
function afterCrash(states: readonly State[]): State[] {
  return states.flatMap((state) =>
    state === undefined ? [undefined] : [true, false].map((isOpen) => ({ ...state, isOpen })),
  );
}

/** and the server may open it again at any time, since it answers requests meanwhile. */
const REOPENING: Event = { action: 'open', begun: 0, ended: Infinity, answer: undefined };

/** A project, with everything that was asked of it since the server started. */
class Subject {
  readonly path: string;
  states: State[] = [undefined];
  events: Event[] = [];

  constructor(
    readonly id: string,
    readonly name: string,
  ) {
    this.path = `/v2/projects/${id}`;
  }

  /** Returns what cannot have happened. */
  conclude(): string[] {
    const { states, events } = this;
    this.states = possibleStates(states, events);
    this.events = [];
    return this.states.length > 0
      ? []
      : [`no order explains this, of ${JSON.stringify(states)}: ${JSON.stringify(events, undefined, 1)}`];
  }
}

class Life {
  readonly #client: Client;
  readonly #random: Random;
  readonly #subjects: readonly Subject[];
  #clock = 0;
  #copies = 0;
  #isOver = false;

  constructor(client: Client, random: Random, subjects: readonly Subject[]) {
    this.#client = client;
    this.#random = random;
    this.#subjects = subjects;
  }

  /** Until so many have been answered; then `onEnough`, while others are under way. */
  async run(actions: number, onEnough: () => void): Promise<void> {
    let answered = 0;
    const work = async (): Promise<void> => {
      while (!this.#isOver) {
        await this.#act(this.#random.pick(this.#subjects), this.#random.pick(ACTIONS));
        if (++answered === actions) onEnough();
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, work));
  }

  async #act(subject: Subject, action: Action): Promise<void> {
    const begun = this.#clock++;
    const answer = await this.#ask(subject, action).catch((error: unknown) => {
      if (!(error instanceof Unanswered)) throw error;
      this.#isOver = true;
      return undefined;
    });
    const ended = answer === undefined ? Infinity : this.#clock++;
    subject.events.push({ action, begun, ended, answer });
  }

  async #ask({ id, name, path }: Subject, action: Action): Promise<Event['answer']> {
    const client = this.#client;
    switch (action) {
      case 'create':
        return only(await client.post('/v2/projects', { name, project_id: id, auto_close: false }));
      case 'delete':
        return only(await client.delete(path));
      case 'open':
      case 'close':
        return only(await client.post(`${path}/${action}`));
      case 'fill':
        return only(
          await client.post(`${path}/nodes`, {
            name: 'S',
            node_type: 'ethernet_switch',
            compute_id: 'local',
          }),
        );
      case 'count':
        return counted(await client.get(`${path}/nodes`));
      case 'duplicate': {
        const reply = await client.post(`${path}/duplicate`, { name: `copy-${name}-${this.#copies++}` });
        if (reply.status !== 201) return only(reply);
        const copy = `/v2/projects/${(reply.body as { project_id: string }).project_id}`;
        const { nodes = 0 } = counted(await client.get(`${copy}/nodes`));
        await client.expect(204, 'DELETE', copy);
        return { status: 201, nodes };
      }
    }
  }
}

function only({ status }: Reply): { status: number } {
  return { status };
}

function counted({ status, body }: Reply): { status: number; nodes?: number } {
  return Array.isArray(body) ? { status, nodes: body.length } : { status };
}

export async function playHistory(t: Test, { seed, lives, actionsOfLife }: HistoryPlan): Promise<void> {
  const random = new Random(seed);
  const data = scratchFolder(t);
  const subjects = Array.from({ length: PROJECTS }, (_, index) => new Subject(random.uuid(), `lab-${index}`));
  for (let life = 0; life < lives; life++) {
    const server = await startServer(t, { data });
    const client = new Client(server.url);
    const ids = (await client.get('/v2/projects')).body as { project_id: string }[];
    const known = new Set(subjects.map(({ id }) => id));
    for (const { project_id: id } of ids) {
      // A duplicate that nobody has been told of may be there.
      if (!known.has(id)) await client.expect(204, 'DELETE', `/v2/projects/${id}`);
    }
    t.same(asideNames(data), [], `life ${life} begins with nothing half done`);
    let killed: Promise<unknown> = Promise.resolve();
    await new Life(client, random, subjects).run(actionsOfLife, () => {
      killed = server.stop('SIGKILL');
    });
    await killed;
    for (const subject of subjects) {
      t.same(subject.conclude(), [], `seed ${seed}, life ${life}, ${subject.name}`);
      subject.states = afterCrash(subject.states);
      subject.events = [REOPENING];
    }
  }
  const last = await startServer(t, { data });
  const client = new Client(last.url);
  for (const subject of subjects) {
    const { status, nodes } = counted(await client.get(`${subject.path}/nodes`));
    const isPossible = subject.states.some((state) =>
      state === undefined ? status === 404 : status === 200 && state.nodes === nodes,
    );
    t.ok(isPossible, `at the end: ${status}, ${nodes ?? 'no'} nodes of ${JSON.stringify(subject.states)}`);
    if (status === 200) await client.expect(204, 'DELETE', subject.path);
  }
  for (const { project_id: id } of (await client.get('/v2/projects')).body as { project_id: string }[]) {
    await client.expect(204, 'DELETE', `/v2/projects/${id}`);
  }
  t.same(asideNames(data), [], 'nothing lies aside');
  t.same(
    projectFolders(data).filter((name) => !subjects.some(({ id }) => id === name)),
    [],
    'and no folder of a project that was not asked for',
  );
  t.equal(await last.stop(), 0);
}
