/** Streams of what passes several links of an open project. An open stream keeps the project from closing by itself. */
import type { CaptureTail, Selection } from './link-capture.js';
import { findLink } from '../lab/topology/link-changes.js';
import type { Project } from '../lab/projects/project.js';

const CAPTURING = 'capturing';

/** `links` is `capturing`, or ids separated by commas; all links without it. Which these are may change meanwhile. */
export async function openLinkStream(
  project: Project,
  links: string | undefined,
  selection: Selection,
): Promise<CaptureTail> {
  const { topology } = project;
  const stream = await topology.run.openStream({ ...selection, includes: chooser(project, links) });
  const release = project.hold();
  return {
    next: (use) => stream.next(use),
    onReady: (callback) => {
      stream.onReady(callback);
    },
    close: () => {
      stream.close();
      release();
    },
  };
}

/** Refuses (404) links that are not there. */
function chooser({ topology }: Project, links: string | undefined): (linkId: string) => boolean {
  if (links === undefined) return () => true;
  if (links === CAPTURING) return (id) => topology.captures.get(id)?.isRunning === true;
  const ids = new Set(links.split(',').filter((id) => id !== ''));
  for (const id of ids) findLink(topology, id);
  return (id) => ids.has(id);
}
