/** The commands for notes and drawings, as steps among those of the map. */
import { newId, send } from '../api/call.js';
import { changeDrawing, createDrawing, deleteDrawing, type DrawingChange } from '../api/drawings.js';
import type { DrawingFacts } from './drawings.js';
import type { LabMap } from './lab-map.js';
import type { Steps } from './steps.js';
import { MAP_TEXTS } from './texts.js';

/** All of a drawing that people set. */
export type DrawingLook = Required<DrawingChange>;

export const lookOf = ({ x, y, z, rotation, isLocked, svg }: DrawingFacts): DrawingLook => ({
  ...{ svg, rotation, z, locked: isLocked },
  x: Math.round(x),
  y: Math.round(y),
});

export class DrawingCommands {
  readonly #lab: LabMap;
  readonly #steps: Steps;

  constructor(lab: LabMap, steps: Steps) {
    this.#lab = lab;
    this.#steps = steps;
  }

  add(look: DrawingLook): Promise<void> {
    const id = newId();
    return this.#steps.do({
      name: MAP_TEXTS.draw,
      run: async () => {
        await this.create(id, look);
        this.#lab.select([id]);
        this.#lab.say(MAP_TEXTS.added(this.#lab.nameOf(id)));
      },
      undo: () => this.remove([id]),
    });
  }

  edit(id: string, look: DrawingLook): Promise<void> {
    const known = this.#lab.scene.drawings.get(id);
    if (known === undefined) return Promise.resolve();
    const before = lookOf(known);
    const show = (shown: DrawingLook): void => {
      this.#lab.putDrawing({ ...shown, drawing_id: id, project_id: this.#lab.id });
    };
    return this.#steps.do({
      name: MAP_TEXTS.edit,
      show: () => {
        show(look);
      },
      hide: () => {
        show(before);
      },
      run: () => this.#put(id, look),
      undo: () => this.#put(id, before),
    });
  }

  /** Gives a drawing another picture. */
  redraw(id: string, svg: string): Promise<void> {
    const known = this.#lab.scene.drawings.get(id);
    return known === undefined ? Promise.resolve() : this.edit(id, { ...lookOf(known), svg });
  }

  async create(id: string, look: DrawingLook): Promise<void> {
    this.#lab.putDrawing(await send(createDrawing(this.#lab.id, { ...look, drawing_id: id })));
  }

  /** Gives drawings their places, which are shown already. */
  async move(
    places: readonly { readonly id: string; readonly x: number; readonly y: number }[],
  ): Promise<void> {
    for (const { id, x, y } of places) await this.#put(id, { x, y });
  }

  /** Rejects at the first that the server keeps. */
  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      await send(deleteDrawing(this.#lab.id, id));
      this.#lab.remove(id);
    }
  }

  async #put(id: string, change: DrawingChange): Promise<void> {
    this.#lab.putDrawing(await send(changeDrawing(this.#lab.id, id, change)));
  }
}
