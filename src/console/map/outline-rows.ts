/** The rows of the outline: nodes by name, below each that is unfolded its links, and at the end the drawings. */
import type { Scene } from './scene.js';
import { drawingName } from './drawings.js';
import { MAP_TEXTS } from './texts.js';
import { badgeOf } from './words.js';

export interface OutlineRow {
  /** The id of a node, a link or a drawing. */
  readonly id: string;
  /** Rows of one link stand below both of its nodes. */
  readonly key: string;
  readonly what: 'node' | 'link' | 'drawing';
  readonly level: 1 | 2;
  readonly name: string;
  readonly isUnfolded: boolean | undefined;
  /** The index of the node or the link in the scene, or of the drawing. */
  readonly index: number;
}

const byName = new Intl.Collator(undefined, { numeric: true });

/** `words` are looked for in names and kinds. */
export function outlineRows(scene: Scene, unfolded: ReadonlySet<string>, words: string): OutlineRow[] {
  const wanted = words.trim().toLowerCase();
  const nodes = scene.nodes
    .map((node, index) => ({ node, index }))
    .filter(({ node }) => `${node.name} ${node.type}`.toLowerCase().includes(wanted))
    .sort((a, b) => byName.compare(a.node.name, b.node.name));
  const listed = nodes.flatMap(({ node: { id, name }, index }): OutlineRow[] => {
    const isUnfolded = unfolded.has(id);
    const row: OutlineRow = { id, key: id, what: 'node', level: 1, name, isUnfolded, index };
    return isUnfolded ? [row, ...linkRows(scene, id)] : [row];
  });
  const drawings = scene.drawings.all
    .map((drawing, index): OutlineRow => {
      const name = drawingName(drawing, MAP_TEXTS.drawingKinds);
      return {
        id: drawing.id,
        key: drawing.id,
        what: 'drawing',
        level: 1,
        name,
        isUnfolded: undefined,
        index,
      };
    })
    .filter(({ name }) => name.toLowerCase().includes(wanted));
  return [...listed, ...drawings];
}

function linkRows(scene: Scene, nodeId: string): OutlineRow[] {
  return scene.linksOf(nodeId).map(({ id, ends }) => {
    const [own, other] = ends[0].node === nodeId ? ends : [ends[1], ends[0]];
    const far = scene.node(other.node)?.name ?? '?';
    const name = `${own.adapter}/${own.port} – ${far} ${other.adapter}/${other.port}`;
    return {
      id,
      key: `${nodeId} ${id}`,
      what: 'link',
      level: 2,
      name,
      isUnfolded: undefined,
      index: scene.linkIndex(id) ?? 0,
    };
  });
}

/** The state of a row in words. */
export function stateOf(scene: Scene, row: OutlineRow, statuses: Readonly<Record<string, string>>): string {
  if (row.what === 'node') return statuses[scene.nodes[row.index]?.status ?? ''] ?? '';
  if (row.what === 'drawing') {
    const { z = 0, isLocked = false } = scene.drawings.all[row.index] ?? {};
    return `${isLocked ? `${MAP_TEXTS.isLocked}, ` : ''}${MAP_TEXTS.layerOf(z)}`;
  }
  const link = scene.links[row.index];
  return link === undefined ? '' : badgeOf(scene, row.index, link);
}
