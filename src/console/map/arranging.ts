/** Arranges nodes in short turns between frames, so that the page goes on answering, and for a few seconds at most. */
import type { MapCommands } from './commands.js';
import type { LabMap } from './lab-map.js';
import { Layout } from './layout.js';
import { MAP_TEXTS } from './texts.js';

const TURN_MS = 8;
const LONGEST_MS = 3000;

/** Arranges these nodes, or all of them when fewer than two are given. */
export async function arrange(lab: LabMap, commands: MapCommands): Promise<void> {
  const chosen = lab.nodes.length > 1 ? lab.nodes : lab.scene.nodes.map(({ id }) => id);
  lab.say(MAP_TEXTS.arranging);
  const layout = new Layout(lab.scene, new Set(chosen));
  const end = performance.now() + LONGEST_MS;
  let hasMore = true;
  while (hasMore && performance.now() < end) {
    const pause = performance.now() + TURN_MS;
    while (hasMore && performance.now() < pause) hasMore = layout.advance();
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 0);
    });
  }
  const places = layout.places().filter(({ id }) => lab.scene.node(id) !== undefined);
  await commands.arrange(places);
  lab.say(MAP_TEXTS.arranged(places.length));
}
