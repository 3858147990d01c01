/** One open lab: its map, its nodes and links, and what passes them. */
import type { ProjectShape } from '../../api/shapes/projects.js';
import type { ProjectMapShape } from '../../api/shapes/project-map.js';
import type { DirectedShape, FilterHitsShape, FilterTypeShape, LinkShape } from '../../api/shapes/links.js';
import type { NodeShape } from '../../api/shapes/nodes.js';
import { segment, type Call } from './call.js';
import { askingFor, linesOf, liveSocket } from './live-socket.js';

export interface TemplateShape {
  readonly template_id: string;
  readonly name: string;
  readonly template_type: string;
  readonly category: string;
  readonly symbol: string;
}

interface BatchResult {
  readonly action: string;
  readonly status: number;
  readonly message?: string;
}

export interface NodeResult extends BatchResult {
  readonly node_id: string | null;
  readonly node?: NodeShape;
}

export interface LinkResult extends BatchResult {
  readonly link_id: string | null;
  readonly link?: LinkShape;
}

/** The counts of links by their ids. */
interface LinkTraffic {
  readonly time: number;
  readonly links: Readonly<Record<string, readonly number[]>>;
}

export interface NewLinkEnd {
  readonly node_id: string;
  readonly adapter_number: number;
  readonly port_number: number;
}

const of = (id: string): string => `v2/projects/${segment(id)}`;
const linkOf = (lab: string, link: string): string => `${of(lab)}/links/${segment(link)}`;

export const symbolPath = (symbol: string): string => `v2/symbols/${segment(symbol)}/raw`;

export const capturePath = (lab: string, link: string): string => `${linkOf(lab, link)}/capture/file`;

export const showLab = (lab: string): Call<ProjectShape> => ({ method: 'GET', path: of(lab) });

export const showMap = (lab: string): Call<ProjectMapShape> => ({ method: 'GET', path: `${of(lab)}/map` });

export const showNode = (lab: string, node: string): Call<NodeShape> => ({
  method: 'GET',
  path: `${of(lab)}/nodes/${segment(node)}`,
});

export const changeNodes = (lab: string, body: object): Call<{ results: NodeResult[] }> => ({
  method: 'POST',
  path: `${of(lab)}/nodes/batch`,
  body,
});

/** For those who may let a lab run, and may not change it. */
export const actOnNode = (
  lab: string,
  node: string,
  action: 'start' | 'stop' | 'reload',
): Call<NodeShape> => ({
  method: 'POST',
  path: `${of(lab)}/nodes/${segment(node)}/${action}`,
});

export const duplicateNode = (lab: string, node: string, x: number, y: number): Call<NodeShape> => ({
  method: 'POST',
  path: `${of(lab)}/nodes/${segment(node)}/duplicate`,
  body: { x, y },
});

export const listTemplates = (): Call<TemplateShape[]> => ({ method: 'GET', path: 'v2/templates' });

export const addFromTemplate = (lab: string, template: string, x: number, y: number): Call<NodeShape> => ({
  method: 'POST',
  path: `${of(lab)}/templates/${segment(template)}`,
  body: { x, y, compute_id: 'local' },
});

export const changeLinks = (lab: string, body: object): Call<{ results: LinkResult[] }> => ({
  method: 'POST',
  path: `${of(lab)}/links/batch`,
  body,
});

export const createLink = (lab: string, nodes: readonly NewLinkEnd[]): Call<LinkShape> => ({
  method: 'POST',
  path: `${of(lab)}/links`,
  body: { nodes },
});

export const suspendLink = (lab: string, link: string, suspend: boolean): Call<LinkShape> => ({
  method: 'PUT',
  path: linkOf(lab, link),
  body: { suspend },
});

export const listFilters = (lab: string, link: string): Call<FilterTypeShape[]> => ({
  method: 'GET',
  path: `${linkOf(lab, link)}/available_filters`,
});

export const showDirected = (lab: string, link: string): Call<DirectedShape> => ({
  method: 'GET',
  path: `${linkOf(lab, link)}/directed_filters`,
});

export const showFilterHits = (lab: string, link: string): Call<FilterHitsShape> => ({
  method: 'GET',
  path: `${linkOf(lab, link)}/filter_hits`,
});

export const changeDirected = (
  lab: string,
  link: string,
  forward: object,
  backward: object,
): Call<DirectedShape> => ({
  method: 'PUT',
  path: `${linkOf(lab, link)}/directed_filters`,
  body: { forward, backward },
});

export const captureLink = (lab: string, link: string, action: 'start' | 'stop'): Call<LinkShape> => ({
  method: 'POST',
  path: `${linkOf(lab, link)}/${action}_capture`,
  body: {},
});

/** The events of a lab after those of this number, which is asked anew for each connection. */
export function listenToLab(
  lab: string,
  since: () => number,
  onEvent: (event: unknown) => void,
  onState: (isOpen: boolean) => void,
): () => void {
  const query = (): string => `?observe=yes&since=${since()}`;
  return liveSocket({
    path: () => `${of(lab)}/notifications/ws${query()}`,
    onFrame: onEvent,
    onState,
    otherwise: linesOf(() => `${of(lab)}/notifications${query()}`, onEvent),
  });
}

/** The traffic of the links: their numbers as text, their counts as bytes. */
export function listenToTraffic(
  lab: string,
  onNumbers: (numbers: unknown) => void,
  onCounts: (counts: ArrayBuffer) => void,
  onState: (isOpen: boolean) => void,
): () => void {
  const asked: Call<LinkTraffic> = { method: 'GET', path: `${of(lab)}/traffic` };
  return liveSocket({
    path: `${of(lab)}/traffic/ws`,
    onFrame: onNumbers,
    onBytes: onCounts,
    onState,
    otherwise: askingFor(asked, ({ time, links }) => {
      const all = Object.entries(links);
      onNumbers({ links: Object.fromEntries(all.map(([id], number) => [id, number])), removed: [] });
      const rows = all.flatMap(([, counts], number) => [number, ...counts]);
      onCounts(new Float64Array([time, ...rows]).buffer);
    }),
  });
}
