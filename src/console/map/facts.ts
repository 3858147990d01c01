/** Makes facts of a scene from answers and events of the server. */
import type { LinkShape } from '../../api/shapes/links.js';
import type { NodeShape } from '../../api/shapes/nodes.js';
import type { ProjectMapShape } from '../../api/shapes/project-map.js';
import type { LinkFacts, NodeFacts, Scene } from './scene.js';

export function showMapIn(scene: Scene, { nodes, links, symbols }: ProjectMapShape): void {
  scene.clear();
  for (const node of nodes)
    scene.putNode({
      id: node.node_id,
      name: node.name,
      type: node.node_type,
      status: node.status,
      symbol: symbols[node.symbol] ?? '',
      consoleType: node.console_type ?? undefined,
      isLocked: node.locked === true,
      x: node.x,
      y: node.y,
      width: node.width,
      height: node.height,
    });
  for (const link of links) {
    const [first, second] = link.ends.map(([node, adapter, port]) => ({
      node: nodes[node]?.node_id ?? '',
      adapter,
      port,
    }));
    if (first === undefined || second === undefined) continue;
    scene.putLink({
      id: link.link_id,
      ends: [first, second],
      isSuspended: link.suspend === true,
      isCapturing: link.capturing === true,
      filters: link.filters ?? {},
      forward: link.forward ?? {},
      backward: link.backward ?? {},
    });
  }
}

export function nodeFacts(node: NodeShape): NodeFacts {
  return {
    id: node.node_id,
    name: node.name,
    type: node.node_type,
    status: node.status,
    symbol: node.symbol,
    consoleType: node.console_type ?? undefined,
    isLocked: node.locked,
    x: node.x,
    y: node.y,
    width: node.width,
    height: node.height,
  };
}

/** An event of a link does not tell the filters of each direction: those that are known stay, unless the whole link has some. */
export function linkFacts(link: LinkShape, known: LinkFacts | undefined): LinkFacts | undefined {
  const [first, second] = link.nodes.map((end) => ({
    node: end.node_id,
    adapter: end.adapter_number,
    port: end.port_number,
  }));
  if (first === undefined || second === undefined) return undefined;
  const isWhole = Object.keys(link.filters).length > 0;
  return {
    id: link.link_id,
    ends: [first, second],
    isSuspended: link.suspend,
    isCapturing: link.capturing,
    filters: link.filters,
    forward: isWhole ? {} : (known?.forward ?? {}),
    backward: isWhole ? {} : (known?.backward ?? {}),
  };
}
