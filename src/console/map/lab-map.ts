/**
 * An open lab as a page knows it: the scene, which follows the server's events, the selection, and what is told about both.
 * After a lost connection it goes on with the events that it has missed, or reads the map anew.
 */
import { signal } from '@preact/signals';
import type { DrawingShape } from '../../api/shapes/drawings.js';
import type { LinkShape } from '../../api/shapes/links.js';
import type { NodeShape } from '../../api/shapes/nodes.js';
import { send } from '../api/call.js';
import { listDrawings } from '../api/drawings.js';
import { listenToLab, listenToTraffic, showDirected, showLab, showMap } from '../api/lab.js';
import { onServerEvent } from '../api/notifications.js';
import { LinkCounts } from './counts.js';
import { drawingFacts, drawingName } from './drawings.js';
import { linkFacts, nodeFacts, showMapIn } from './facts.js';
import { Scene } from './scene.js';
import { MAP_TEXTS } from './texts.js';

interface LabEvent {
  readonly action: string;
  readonly event: unknown;
  readonly sequence?: number;
}

export class LabMap {
  readonly id: string;
  readonly scene = new Scene();
  readonly counts = new LinkCounts(this.scene);
  readonly name = signal('');
  readonly state = signal<'reading' | 'shown' | 'closed'>('reading');
  readonly error = signal<unknown>(undefined);
  /** Changes with the scene, and once a second with the rates. */
  readonly revision = signal(0);
  readonly rateRevision = signal(0);
  /** Ids of nodes, links and drawings. */
  readonly selected = signal<ReadonlySet<string>>(new Set());
  /** The node, link or drawing that keys act on. */
  readonly focused = signal<string | undefined>(undefined);
  /** The last sentence for people who do not see the map. */
  readonly said = signal('');
  #version = 0;
  /** Links whose filters of each way are to be asked for. */
  readonly #undirected = new Set<string>();
  #isAnnounced = false;
  #endings: (() => void)[] = [];
  #isOver = false;

  constructor(id: string) {
    this.id = id;
  }

  /** Returns the end. */
  open(): () => void {
    void this.read();
    const unlisten = onServerEvent(({ action, event }) => {
      if (!action.startsWith('project.') || (event as { project_id?: string }).project_id !== this.id) return;
      if (action === 'project.opened' || action === 'project.updated') void this.read();
      if (action === 'project.closed' || action === 'project.deleted') this.#close();
    });
    return () => {
      this.#isOver = true;
      unlisten();
      this.#leave();
    };
  }

  /** Reads the map anew. */
  async read(): Promise<void> {
    try {
      const { name, status } = await send(showLab(this.id));
      this.name.value = name;
      if (status === 'closed') {
        this.#close();
        return;
      }
      const map = await send(showMap(this.id));
      // They are read after the map: the events since its version make both whole.
      const drawings = map.drawings === 0 ? [] : await send(listDrawings(this.id));
      if (this.#isOver) return;
      this.scene.drawings.replace(
        drawings.map((drawing) => drawingFacts(drawing)).filter((drawing) => drawing !== undefined),
      );
      this.#version = map.version;
      showMapIn(this.scene, map);
      this.error.value = undefined;
      this.state.value = 'shown';
      this.#keepChosen();
      this.changed();
      if (this.#endings.length === 0) this.#listen();
    } catch (error) {
      this.error.value = error;
    }
  }

  /** Says a sentence to those who listen. */
  say(sentence: string): void {
    // The same words again would not be read.
    this.said.value = this.said.value === sentence ? `${sentence} ` : sentence;
  }

  /** Shows a change of the scene, together with others of this turn. */
  changed(): void {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    queueMicrotask(() => {
      this.#isAnnounced = false;
      this.revision.value++;
    });
  }

  /** Selects these, and leaves the keys with the last of them. */
  select(ids: Iterable<string>): void {
    const chosen = new Set(ids);
    this.selected.value = chosen;
    this.focused.value = [...chosen].at(-1);
    this.say(this.#sentenceOf(chosen));
  }

  toggle(id: string): void {
    const next = new Set(this.selected.value);
    if (!next.delete(id)) next.add(id);
    this.selected.value = next;
    this.focused.value = id;
    this.say(this.#sentenceOf(next));
  }

  /** The ids of selected nodes. */
  get nodes(): string[] {
    return [...this.selected.value].filter((id) => this.scene.nodeIndex(id) !== undefined);
  }

  /** The ids of selected nodes that have a console. */
  get consoles(): string[] {
    return this.nodes.filter((id) => (this.scene.node(id)?.consoleType ?? 'none') !== 'none');
  }

  /** The ids of selected nodes and drawings that are not locked. */
  get movable(): string[] {
    const { scene } = this;
    return [...this.selected.value].filter(
      (id) => (scene.node(id) ?? scene.drawings.get(id))?.isLocked === false,
    );
  }

  get drawings(): string[] {
    return [...this.selected.value].filter((id) => this.scene.drawings.get(id) !== undefined);
  }

  get links(): string[] {
    return [...this.selected.value].filter((id) => this.scene.linkIndex(id) !== undefined);
  }

  /** A name for people: of a node its own, of a link those of its ends, of a drawing its words or its kind. */
  nameOf(id: string): string {
    const node = this.scene.node(id);
    if (node !== undefined) return node.name;
    const drawing = this.scene.drawings.get(id);
    if (drawing !== undefined) return drawingName(drawing, MAP_TEXTS.drawingKinds);
    const link = this.scene.link(id);
    return link === undefined
      ? ''
      : link.ends.map((end) => this.scene.node(end.node)?.name ?? '?').join(' – ');
  }

  putNode(node: NodeShape): void {
    this.scene.putNode(nodeFacts(node));
    this.changed();
  }

  putDrawing(told: Parameters<typeof drawingFacts>[0]): void {
    const facts = drawingFacts(told, this.scene.drawings.get(told.drawing_id));
    if (facts !== undefined) this.scene.putDrawing(facts);
    this.changed();
  }

  putLink(link: LinkShape): void {
    const facts = linkFacts(link, this.scene.link(link.link_id));
    if (facts !== undefined) this.scene.putLink(facts);
    this.changed();
  }

  remove(id: string): void {
    this.scene.removeNode(id);
    this.scene.removeLink(id);
    this.scene.removeDrawing(id);
    this.#keepChosen();
    this.changed();
  }

  #sentenceOf(chosen: ReadonlySet<string>): string {
    const [first] = chosen;
    if (first === undefined) return MAP_TEXTS.nothingSelected;
    if (chosen.size > 1) return MAP_TEXTS.selected(chosen.size);
    if (this.scene.drawings.get(first) !== undefined) return MAP_TEXTS.drawingSelected(this.nameOf(first));
    const node = this.scene.node(first);
    return node === undefined
      ? MAP_TEXTS.linkSelected(this.nameOf(first))
      : MAP_TEXTS.nodeSelected(node.name, MAP_TEXTS.statuses[node.status]);
  }

  #listen(): void {
    this.#endings = [
      listenToLab(
        this.id,
        () => this.#version,
        (event) => {
          this.#take(event as LabEvent);
        },
        () => undefined,
      ),
      listenToTraffic(
        this.id,
        (numbers) => {
          this.counts.number(numbers as Parameters<LinkCounts['number']>[0]);
        },
        (counts) => {
          this.counts.take(counts);
          this.rateRevision.value++;
        },
        (isOpen) => {
          if (isOpen) this.counts.reset();
        },
      ),
    ];
  }

  #leave(): void {
    for (const end of this.#endings) end();
    this.#endings = [];
  }

  #close(): void {
    this.#leave();
    this.state.value = 'closed';
  }

  #take({ action, event, sequence }: LabEvent): void {
    if (sequence !== undefined) this.#version = Math.max(this.#version, sequence);
    switch (action) {
      case 'events.lost':
        void this.read();
        break;
      case 'node.created':
      case 'node.updated':
        this.putNode(event as NodeShape);
        break;
      case 'link.created':
        this.putLink(event as LinkShape);
        break;
      case 'link.updated':
        this.#update(event as LinkShape);
        break;
      case 'drawing.created':
      case 'drawing.updated':
        this.putDrawing(event as DrawingShape);
        break;
      case 'drawing.deleted':
        this.remove((event as DrawingShape).drawing_id);
        break;
      case 'node.deleted':
        this.remove((event as NodeShape).node_id);
        break;
      case 'link.deleted':
        this.remove((event as LinkShape).link_id);
        break;
      case 'log.error':
      case 'log.warning':
        this.say((event as { message: string }).message);
        break;
      default:
    }
  }

  /** An event in which nothing is new tells that filters of one way have changed, which no event of the contract names. */
  #update(link: LinkShape): void {
    const known = JSON.stringify(this.scene.link(link.link_id));
    this.putLink(link);
    if (JSON.stringify(this.scene.link(link.link_id)) !== known) return;
    this.#undirected.add(link.link_id);
    if (this.#undirected.size === 1) void this.#readDirected();
  }

  /** Asks for one link after the other. What fails is asked for again at the next event. */
  async #readDirected(): Promise<void> {
    for (const id of this.#undirected) {
      try {
        const { forward, backward } = await send(showDirected(this.id, id));
        const link = this.scene.link(id);
        if (link !== undefined) this.scene.putLink({ ...link, forward, backward });
        this.changed();
      } catch {
        // The link may be gone by now.
      }
      this.#undirected.delete(id);
    }
  }

  #keepChosen(): void {
    const isThere = (id: string): boolean =>
      this.scene.nodeIndex(id) !== undefined ||
      this.scene.linkIndex(id) !== undefined ||
      this.scene.drawings.get(id) !== undefined;
    const kept = [...this.selected.value].filter(isThere);
    if (kept.length < this.selected.value.size) this.selected.value = new Set(kept);
    if (this.focused.value !== undefined && !isThere(this.focused.value)) this.focused.value = kept.at(-1);
  }
}
