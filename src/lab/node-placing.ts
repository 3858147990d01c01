/** The contract between those who make nodes and whoever finds a place for them, in a farm. */
import type { Project } from './projects/project.js';
import type { NewNode } from './topology/nodes.js';

export interface NodePlacing {
  /**
   * Finds a compute with room for a node that is wanted on this server's own, and makes it there by `make`. The room is nobody
   * else's until the node is stored, or is not. With `staysHere` only this server counts. A node that names another compute
   * goes there.
   */
  place<Result>(
    project: Project,
    wanted: NewNode,
    make: (placed: NewNode) => Promise<Result>,
    staysHere?: boolean,
  ): Promise<Result>;
}
