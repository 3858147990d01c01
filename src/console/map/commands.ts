/** The commands of the map: each is shown at once, and taken back with the server's sentence when that refuses. */
import { signal } from '@preact/signals';
import type { NodeShape } from '../../api/shapes/nodes.js';
import { RefusedCall, send } from '../api/call.js';
import {
  actOnNode,
  addFromTemplate,
  captureLink,
  changeDirected,
  changeLinks,
  changeNodes,
  createLink,
  duplicateNode,
  showNode,
  suspendLink,
  type LinkResult,
  type NewLinkEnd,
  type NodeResult,
  type TemplateShape,
} from '../api/lab.js';
import { mayOn } from '../state/grants.js';
import { failed } from '../state/toasts.js';
import { DrawingCommands, lookOf } from './drawing-commands.js';
import type { LabMap } from './lab-map.js';
import type { Placed } from './layout.js';
import type { LinkFacts } from './scene.js';
import { Steps } from './steps.js';
import { MAP_TEXTS } from './texts.js';

/** Nodes whose deletion loses nothing: they are no more than their settings. */
const SWITCHES = ['ethernet_hub', 'ethernet_switch', 'frame_relay_switch', 'atm_switch'];
/** The server takes so many changes at once. */
const MOST_AT_ONCE = 1024;
const MOST_NEW_AT_ONCE = 256;

interface Position {
  /** The id of a node or a drawing. */
  readonly id: string;
  readonly x: number;
  readonly y: number;
}

export class MapCommands {
  readonly drawings: DrawingCommands;
  readonly #lab: LabMap;
  readonly #steps: Steps;
  /** Links that were made again have other ids. */
  readonly #renamed = new Map<string, string>();
  /** The names of the steps that could be undone and done again. */
  readonly history = signal<{ readonly undo?: string | undefined; readonly redo?: string | undefined }>({});

  constructor(lab: LabMap) {
    this.#lab = lab;
    this.#steps = new Steps(failed, () => {
      this.history.value = { undo: this.#steps.undoable, redo: this.#steps.redoable };
    });
    this.drawings = new DrawingCommands(lab, this.#steps);
  }

  async undo(): Promise<void> {
    const name = this.#steps.undoable;
    await this.#steps.undo();
    if (name !== undefined) this.#lab.say(MAP_TEXTS.undone(name));
  }

  async redo(): Promise<void> {
    const name = this.#steps.redoable;
    await this.#steps.redo();
    if (name !== undefined) this.#lab.say(MAP_TEXTS.redone(name));
  }

  /** Moves nodes by so much, in one call, and drawings. */
  move(ids: readonly string[], dx: number, dy: number): Promise<void> {
    const { scene } = this.#lab;
    const moved = ids.flatMap((id) => {
      const one = scene.node(id) ?? scene.drawings.get(id);
      return one === undefined || one.isLocked ? [] : [one];
    });
    const at = (sign: 0 | 1): Position[] =>
      moved.map(({ id, x, y }) => ({ id, x: Math.round(x + sign * dx), y: Math.round(y + sign * dy) }));
    return this.#moveTo(MAP_TEXTS.moved(moved.length), at(0), at(1));
  }

  /** Gives nodes places that a layout has found. */
  arrange(places: readonly Placed[]): Promise<void> {
    const before = places.map(({ id }) => {
      const { x = 0, y = 0 } = this.#lab.scene.node(id) ?? {};
      return { id, x: Math.round(x), y: Math.round(y) };
    });
    return this.#moveTo(MAP_TEXTS.arranged(places.length), before, places);
  }

  #moveTo(name: string, before: readonly Position[], after: readonly Position[]): Promise<void> {
    if (after.length === 0) return Promise.resolve();
    return this.#steps.do({
      name,
      show: () => this.#place(after),
      hide: () => this.#place(before),
      run: () => this.#store(after),
      undo: () => this.#store(before),
    });
  }

  async #store(positions: readonly Position[]): Promise<void> {
    const { drawings } = this.#lab.scene;
    const [drawn, nodes] = [true, false].map((isDrawing) =>
      positions.filter(({ id }) => (drawings.get(id) !== undefined) === isDrawing),
    ) as [Position[], Position[]];
    if (nodes.length > 0)
      await this.#changeNodes({ update: nodes.map(({ id, x, y }) => ({ node_id: id, x, y })) });
    await this.drawings.move(drawn);
  }

  rename(id: string, name: string): Promise<void> {
    const before = this.#lab.nameOf(id);
    return this.#steps.do({
      name: MAP_TEXTS.rename,
      run: () => this.#changeNodes({ update: [{ node_id: id, name }] }),
      undo: () => this.#changeNodes({ update: [{ node_id: id, name: before }] }),
    });
  }

  add(template: TemplateShape, x: number, y: number): Promise<void> {
    return this.#make(MAP_TEXTS.add, async () => [
      await send(addFromTemplate(this.#lab.id, template.template_id, Math.round(x), Math.round(y))),
    ]);
  }

  duplicate(ids: readonly string[]): Promise<void> {
    const { id: lab, scene } = this.#lab;
    return this.#make(MAP_TEXTS.duplicate, async () => {
      const made: NodeShape[] = [];
      for (const id of ids) {
        const { x = 0, y = 0 } = scene.node(id) ?? {};
        made.push(await send(duplicateNode(lab, id, Math.round(x) + 60, Math.round(y) + 60)));
      }
      return made;
    });
  }

  link(first: NewLinkEnd, second: NewLinkEnd): Promise<void> {
    let id = '';
    return this.#steps.do({
      name: MAP_TEXTS.link,
      run: async () => {
        const link = await send(createLink(this.#lab.id, [first, second]));
        if (id !== '') this.#renamed.set(id, link.link_id);
        id = link.link_id;
        this.#lab.putLink(link);
        this.#lab.select([id]);
        this.#lab.say(MAP_TEXTS.linked(this.#lab.nameOf(id)));
      },
      undo: () => this.#changeLinks({ delete: [this.#now(id)] }),
    });
  }

  /** Whether removing these loses something that cannot be made again. */
  isFinal(ids: readonly string[]): boolean {
    return ids.some((id) => !SWITCHES.includes(this.#lab.scene.node(id)?.type ?? 'ethernet_hub'));
  }

  async remove(ids: readonly string[]): Promise<void> {
    const { scene } = this.#lab;
    const nodes = ids.filter((id) => scene.nodeIndex(id) !== undefined);
    const drawn = ids.map((id) => scene.drawings.get(id)).filter((drawing) => drawing !== undefined);
    const own = nodes.flatMap((id) => scene.linksOf(id));
    const chosen = ids.map((id) => scene.link(id)).filter((link) => link !== undefined);
    const links = [...new Map([...own, ...chosen].map((link) => [link.id, link])).values()];
    const run = async (): Promise<void> => {
      if (links.length > 0) await this.#changeLinks({ delete: links.map(({ id }) => this.#now(id)) });
      if (nodes.length > 0) await this.#changeNodes({ delete: nodes });
      await this.drawings.remove(drawn.map(({ id }) => id));
      this.#lab.say(MAP_TEXTS.removed(ids.length));
    };
    if (this.isFinal(nodes)) return run().catch(failed);
    const kept = await Promise.all(nodes.map((id) => send(showNode(this.#lab.id, id)))).catch(failed);
    if (kept === undefined) return undefined;
    return this.#steps.do({
      name: MAP_TEXTS.remove,
      run,
      undo: async () => {
        if (kept.length > 0) await this.#changeNodes({ create: kept.map(madeAgain) });
        await this.#linkAgain(links);
        for (const drawing of drawn) await this.drawings.create(drawing.id, lookOf(drawing));
      },
    });
  }

  async act(ids: readonly string[], action: 'start' | 'stop' | 'reload'): Promise<void> {
    const { id: lab } = this.#lab;
    try {
      if (mayOn(lab, 'projects:write')) await this.#changeNodes({ [action]: ids });
      else await Promise.all(ids.map((id) => send(actOnNode(lab, id, action))));
    } catch (error) {
      failed(error);
    }
  }

  async suspend(ids: readonly string[]): Promise<void> {
    const { scene, id: lab } = this.#lab;
    const suspend = ids.some((id) => scene.link(id)?.isSuspended === false);
    const set = async (value: boolean): Promise<void> => {
      for (const id of ids) this.#lab.putLink(await send(suspendLink(lab, this.#now(id), value)));
    };
    await this.#steps.do({
      name: suspend ? MAP_TEXTS.suspend : MAP_TEXTS.resume,
      run: () => set(suspend),
      undo: () => set(!suspend),
    });
  }

  async capture(ids: readonly string[]): Promise<void> {
    const { scene, id: lab } = this.#lab;
    try {
      for (const id of ids)
        this.#lab.putLink(
          await send(captureLink(lab, id, scene.link(id)?.isCapturing === true ? 'stop' : 'start')),
        );
    } catch (error) {
      failed(error);
    }
  }

  filter(id: string, forward: object, backward: object): Promise<void> {
    const { scene, id: lab } = this.#lab;
    const before = scene.link(id);
    const set = async (outward: object, inward: object): Promise<void> => {
      const answer = await send(changeDirected(lab, this.#now(id), outward, inward));
      const link = scene.link(answer.link_id);
      if (link !== undefined)
        scene.putLink({ ...link, filters: {}, forward: answer.forward, backward: answer.backward });
      this.#lab.changed();
    };
    return this.#steps.do({
      name: MAP_TEXTS.filters,
      run: async () => {
        await set(forward, backward);
        this.#lab.say(MAP_TEXTS.applied);
      },
      undo: () =>
        set({ ...before?.filters, ...before?.forward }, { ...before?.filters, ...before?.backward }),
    });
  }

  /** Nodes that were made are made again with the same ids. */
  #make(name: string, make: () => Promise<NodeShape[]>): Promise<void> {
    let made: NodeShape[] = [];
    return this.#steps.do({
      name,
      run: async () => {
        if (made.length > 0) {
          await this.#changeNodes({ create: made.map(madeAgain) });
          return;
        }
        made = await make();
        for (const node of made) this.#lab.putNode(node);
        this.#lab.select(made.map(({ node_id: id }) => id));
        this.#lab.say(MAP_TEXTS.added(made.map((node) => node.name).join(', ')));
      },
      undo: () => this.#changeNodes({ delete: made.map(({ node_id: id }) => id) }),
    });
  }

  #place(positions: readonly Position[]): void {
    const { scene } = this.#lab;
    for (const { id, x, y } of positions) {
      const node = scene.node(id);
      if (node !== undefined) scene.putNode({ ...node, x, y });
      const drawing = scene.drawings.get(id);
      if (drawing !== undefined) scene.putDrawing({ ...drawing, x, y });
    }
    this.#lab.changed();
  }

  #now(link: string): string {
    let id = link;
    for (let next = this.#renamed.get(id); next !== undefined; next = this.#renamed.get(id)) id = next;
    return id;
  }

  async #linkAgain(links: readonly LinkFacts[]): Promise<void> {
    if (links.length === 0) return;
    const create = links.map(({ ends, filters, isSuspended }) => ({
      nodes: ends.map(({ node, adapter, port }) => ({
        node_id: node,
        adapter_number: adapter,
        port_number: port,
      })),
      filters,
      suspend: isSuspended,
    }));
    const { results } = await send(changeLinks(this.#lab.id, { create }));
    for (const [index, { link }] of refuseFailures(results).entries()) {
      if (link === undefined) continue;
      this.#renamed.set(this.#now(links[index]?.id ?? ''), link.link_id);
      this.#lab.putLink(link);
    }
  }

  /** Shows what the server has done, and rejects with its first refusal. */
  async #changeNodes(body: Readonly<Record<string, readonly unknown[]>>): Promise<void> {
    for (const [action, all] of Object.entries(body)) {
      const most = action === 'create' ? MOST_NEW_AT_ONCE : MOST_AT_ONCE;
      for (let from = 0; from < all.length; from += most) {
        const part = { [action]: all.slice(from, from + most) };
        const { results } = await send(changeNodes(this.#lab.id, part));
        for (const { node } of results) if (node !== undefined) this.#lab.putNode(node);
        for (const { action: done, status, node_id: id } of results)
          if (done === 'delete' && status === 204 && id !== null) this.#lab.remove(id);
        refuseFailures(results);
      }
    }
  }

  async #changeLinks(body: object): Promise<void> {
    const { results } = await send(changeLinks(this.#lab.id, body));
    for (const { action, status, link_id: id } of results)
      if (action === 'delete' && status === 204 && id !== null) this.#lab.remove(id);
    refuseFailures(results);
  }
}

function madeAgain(node: NodeShape): object {
  const { node_id, name, node_type, compute_id, properties, symbol, x, y, z, template_id, label } = node;
  return { node_id, name, node_type, compute_id, properties, symbol, x, y, z, template_id, label };
}

function refuseFailures<Result extends NodeResult | LinkResult>(
  results: readonly Result[],
): readonly Result[] {
  const refused = results.find(({ status }) => status >= 400);
  if (refused !== undefined) throw new RefusedCall(refused.status, '', refused.message ?? '');
  return results;
}
