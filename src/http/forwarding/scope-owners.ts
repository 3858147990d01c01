/** The owners of what a farm has, as far as requests need to know. */

/** A server of the farm, and where others reach it: scheme, host and port. */
export interface OwningServer {
  readonly id: string;
  readonly address: string;
  /** Another one after each of its starts. */
  readonly life: string;
}

/** This server. */
export interface OwnServer extends OwningServer {
  /** Grows from one of its starts to the next. */
  readonly start: number;
}

type ScopeOwner =
  | {
      readonly at: 'here';
      /** False as soon as another server might have the scope without this one knowing it. */
      readonly claim: { isFresh(): boolean };
      /** So many milliseconds ago it was known that no other has the scope; undefined when that is known now. */
      readonly staleMs: number | undefined;
    }
  | ({ readonly at: 'server' } & OwningServer)
  | { readonly at: 'nobody' };

export interface ScopeOwners {
  /** The owner of the scope, as far as this server knows; nothing is asked. */
  known(scope: string): ScopeOwner;
  /**
   * Finds who answers for the scope, which nobody may have had until now. A scope that another server takes this one for the
   * owner of is claimed here.
   */
  find(scope: string, wasForwarded: boolean): Promise<ScopeOwner>;
}
