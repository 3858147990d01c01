/** The contract between those who make nodes and whoever finds a place for them, in a farm. */
import type { Properties } from './kinds/node-kind.js';
import type { Project } from './projects/project.js';
import type { NewNode, ReservedRoom } from './topology/nodes.js';

export interface NodePlacing {
  /**
   * Finds a compute with room for a node that is wanted on this server's own, and makes it there by `make`. The room is nobody
   * else's until the node is stored, or is not. With `staysHere` only this server counts, and `except` is a compute that does not. A
   * node that names another compute goes there.
   */
  place<Result>(
    project: Project,
    wanted: NewNode,
    make: (placed: NewNode) => Promise<Result>,
    staysHere?: boolean,
    except?: string,
  ): Promise<Result>;
  /** Changes a node by `change`, with the room for the memory that these properties add. Refuses (409) more than its host has. */
  grow<Result>(
    project: Project,
    nodeId: string,
    properties: Properties | undefined,
    change: (room: ReservedRoom | undefined) => Promise<Result>,
  ): Promise<Result>;
}
