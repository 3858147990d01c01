/** Projects that other servers have, where several servers share one store. */
import type { Store } from '../../base/store/store.js';

/** A project in lists, whichever server has it. */
export interface ListedProject {
  readonly id: string;
  readonly name: string;
  readonly order: number;
  /** The project as clients see it, as JSON text. */
  readonly text: string;
}

/** The right of this server to one project, for one life of the project here. */
export interface ProjectHold {
  /** Its commits to the project are refused (503) when the hold is over, also when this server has the project again. */
  readonly store: Store;
  /** Grows from one hold of the project to the next, on any server. */
  readonly epoch: number;
  /** Whether it is known that another server may have the project by now. */
  readonly isOver: () => boolean;
  /** False as soon as another server might have the project, although that is not known yet. */
  readonly isFresh: () => boolean;
}

export interface ProjectsElsewhere {
  /** The name of this server, which should have the projects again whose files it has. */
  readonly own: string;
  /** All projects of the store, as far as this server knows; its own it knows better. */
  readonly listed: ReadonlyMap<string, ListedProject>;
  /**
   * Makes a new project this server's; called before anything of it is stored. Refuses (503) one that another has. Undefined for
   * one that is there already: it comes as all others do.
   */
  readonly begin: (projectId: string) => Promise<ProjectHold | undefined>;
  /**
   * Holds a name of an owner, or of nobody, against all servers until what is returned is called. `check` refuses a name that is
   * taken; it is called when all that others have named before is known here. Begin the project first.
   */
  readonly holdName: (owner: string | undefined, name: string, check: () => void) => Promise<() => void>;
  /** Lets others have a project that is closed or gone. */
  readonly end: (projectId: string) => void;
}

interface OwnProject {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly record: { readonly order: number };
}

/** The list of the projects that a client sees. */
export function projectList(
  own: ReadonlyMap<string, OwnProject>,
  elsewhere: ProjectsElsewhere | undefined,
  isSeen: (id: string) => boolean,
): string {
  const texts: string[] = [];
  if (elsewhere === undefined) for (const { id, text } of own.values()) if (isSeen(id)) texts.push(text);
  if (elsewhere !== undefined)
    for (const { id, text } of allOf(own, elsewhere)) if (isSeen(id)) texts.push(text);
  return `[${texts.join(',')}]`;
}

/** All projects in the order in which they were made, own ones as this server has them. */
function allOf(own: ReadonlyMap<string, OwnProject>, { listed }: ProjectsElsewhere): ListedProject[] {
  const ours = [...own.values()].map(({ id, name, text, record }) => ({
    id,
    name,
    text,
    order: record.order,
  }));
  return [...ours, ...[...listed.values()].filter(({ id }) => !own.has(id))].sort(
    // Two servers may have given the same number.
    (a, b) => a.order - b.order || (a.id < b.id ? -1 : 1),
  );
}

/** Where the names of all projects are found. */
export function namesOf(
  own: ReadonlyMap<string, OwnProject>,
  elsewhere: ProjectsElsewhere | undefined,
): { values: () => Iterable<{ readonly id: string; readonly name: string }> } {
  return elsewhere === undefined ? own : { values: () => allOf(own, elsewhere) };
}

/** The number that a project which is made now has in lists, where this server would give it `next`. */
export function orderAfter(elsewhere: ProjectsElsewhere | undefined, next: number): number {
  let order = next;
  for (const listed of elsewhere?.listed.values() ?? []) order = Math.max(order, listed.order + 1);
  return order;
}
