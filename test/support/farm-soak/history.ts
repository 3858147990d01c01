/** All that a soak of a farm has noted, for the checker. Times are of one clock; revisions are those of etcd. */

/** An object is `project/P`, `node/P/N` or `link/P/L`. Its value is its name, which no other write gives to anything; a link's is a constant. */
export interface StoredChange {
  readonly revision: number;
  readonly object: string;
  /** Undefined when it was removed. */
  readonly value?: string | undefined;
}

/** A server has claimed a scope, or its claim is over. */
export interface OwnerChange {
  readonly revision: number;
  readonly scope: string;
  readonly server?: string | undefined;
}

interface Asked {
  readonly client: number;
  readonly begun: number;
  readonly ended: number;
}

export interface AskedChange extends Asked {
  readonly object: string;
  /** Undefined for a removal. */
  readonly value?: string | undefined;
  /** `unknown`: the answer was 5xx, or none came. */
  readonly outcome: 'done' | 'refused' | 'unknown';
  readonly request?: string | undefined;
}

/** A list or one object, as it was answered without an age. */
export interface AskedRead extends Asked {
  /** An object, or the beginning of all objects that the list has. */
  readonly covers: string;
  readonly values: Readonly<Record<string, string>>;
}

/** A line of the access log about a request that was answered by this server itself. */
export interface LoggedAnswer {
  readonly server: string;
  readonly request: string;
  readonly status: number;
}

export interface Told {
  readonly object: string;
  readonly value?: string | undefined;
  readonly kind: 'created' | 'updated' | 'deleted';
  /** Grows when the stream says that events may be missing. */
  readonly part: number;
}

/** A notification stream of a project. */
export interface ToldStream {
  readonly scope: string;
  /** From this time on nothing is missing. */
  readonly opened: number;
  readonly told: readonly Told[];
}

/** A compute when all is quiet. */
export interface Running {
  readonly compute: string;
  /** Nodes that it has, as objects; one that is there twice stands here twice. */
  readonly nodes: readonly string[];
  /** The UDP ports that ends of links have. */
  readonly ends: readonly { readonly link: string; readonly port: number }[];
}

/** Nodes and links as the stored records have them when all is quiet. */
export interface Wanted {
  readonly nodes: Readonly<Record<string, { readonly compute: string; readonly started: boolean }>>;
  /** Links between different computes. */
  readonly links: readonly string[];
}

export interface Quiet {
  readonly wanted: Wanted;
  readonly running: readonly Running[];
  /** Nodes whose program runs on this machine, one entry a program. */
  readonly programs: readonly string[];
  readonly frames: { readonly sent: number; readonly received: number };
}

export interface SoakHistory {
  /** In the order of their revisions. */
  readonly changes: readonly StoredChange[];
  readonly owners: readonly OwnerChange[];
  /** All records at the end, read anew. */
  readonly last: Readonly<Record<string, string>>;
  readonly asked: readonly AskedChange[];
  readonly reads: readonly AskedRead[];
  readonly logged: readonly LoggedAnswer[];
  readonly streams: readonly ToldStream[];
  /** One after each healing. */
  readonly quiet: readonly Quiet[];
}

/** The project of an object. */
export const scopeOf = (object: string): string => object.split('/')[1] ?? '';
