/** The captures of all open projects, each with its links. */
import type { Project } from '../lab/projects/project.js';
import type { Topology } from '../lab/topology/topology.js';
import type { RunningCapture } from './files/capture-files.js';
import { LinkCaptures, type LinkCapturesOptions } from './link-captures.js';

export class LabCaptures {
  readonly #options: LinkCapturesOptions;
  /** They go with what is open of the project. */
  readonly #byTopology = new WeakMap<Topology, LinkCaptures>();

  constructor(options: LinkCapturesOptions) {
    this.#options = options;
  }

  /** Refuses (403) a project that is closed. */
  of(project: Project): LinkCaptures {
    const { topology } = project;
    let captures = this.#byTopology.get(topology);
    if (captures === undefined) {
      captures = new LinkCaptures(project, this.#options);
      this.#byTopology.set(topology, captures);
    }
    return captures;
  }

  /** What is written of the project, or is about to be; nothing of a closed one. */
  running(project: Project): RunningCapture[] {
    return project.isOpen ? [...this.of(project).files()] : [];
  }
}
