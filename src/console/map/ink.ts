/** Colours that can be seen on their ground, in both schemes: drawings have colours of their own, mostly for white paper. */

const LEAST_FOR_TEXT = 3;
const LEAST_FOR_LINES = 1.4;
const MOST_KNOWN = 1000;

export class Ink {
  readonly #lights = new Map<string, number>();

  /** The colour, or another when it cannot be read there. */
  readable(context: CanvasRenderingContext2D, colour: string, ground: string, other: string): string {
    return this.#contrast(context, colour, ground) < LEAST_FOR_TEXT &&
      this.#contrast(context, other, ground) > this.#contrast(context, colour, ground)
      ? other
      : colour;
  }

  visible(context: CanvasRenderingContext2D, colour: string, ground: string, other: string): string {
    return this.#contrast(context, colour, ground) < LEAST_FOR_LINES ? other : colour;
  }

  #contrast(context: CanvasRenderingContext2D, one: string, other: string): number {
    const [a, b] = [this.#light(context, one), this.#light(context, other)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  #light(context: CanvasRenderingContext2D, colour: string): number {
    const known = this.#lights.get(colour);
    if (known !== undefined) return known;
    if (this.#lights.size >= MOST_KNOWN) this.#lights.clear();
    // The canvas knows all names of colours; what is none, it leaves as it was.
    context.fillStyle = '#000000';
    context.fillStyle = colour;
    const text = context.fillStyle;
    const parts = [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16) / 255);
    const [red = 0, green = 0, blue = 0] = parts.map((part) =>
      Number.isNaN(part) ? 0 : part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
    );
    const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    this.#lights.set(colour, light);
    return light;
  }
}
