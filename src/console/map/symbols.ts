/** The pictures of symbols, each drawn once for each size in which it is needed. */
import { symbolPath } from '../api/lab.js';

/** Sizes are rounded up to powers of this, so that zooming does not draw them again and again. */
const SIZE_STEP = 1.5;
const MOST_PICTURES = 600;

export class Symbols {
  readonly #loaded: () => void;
  readonly #images = new Map<string, HTMLImageElement>();
  readonly #pictures = new Map<string, HTMLCanvasElement>();
  /** The picture that was asked for last of each symbol: most nodes of a map are alike. */
  readonly #last = new Map<string, { readonly size: number; readonly picture: HTMLCanvasElement }>();

  /** `loaded` is called when a symbol has come. */
  constructor(loaded: () => void) {
    this.#loaded = loaded;
  }

  /** The picture for this size on the screen; undefined while the symbol is on its way, or when it has none. */
  at(symbol: string, width: number, height: number): HTMLCanvasElement | undefined {
    const last = this.#last.get(symbol);
    if (last?.size === width) return last.picture;
    const image = this.#images.get(symbol) ?? this.#load(symbol);
    if (!image.complete || image.naturalWidth === 0) return undefined;
    const step = Math.ceil(Math.log(Math.max(width, 8) * devicePixelRatio) / Math.log(SIZE_STEP));
    const key = `${step} ${symbol}`;
    const known = this.#pictures.get(key);
    if (known !== undefined) {
      this.#last.set(symbol, { size: width, picture: known });
      return known;
    }
    if (this.#pictures.size >= MOST_PICTURES) this.#pictures.clear();
    const picture = document.createElement('canvas');
    picture.width = Math.ceil(SIZE_STEP ** step);
    picture.height = Math.max(1, Math.ceil((picture.width * height) / Math.max(1, width)));
    picture.getContext('2d')?.drawImage(image, 0, 0, picture.width, picture.height);
    this.#pictures.set(key, picture);
    return picture;
  }

  #load(symbol: string): HTMLImageElement {
    const image = new Image();
    image.onload = this.#loaded;
    image.src = symbolPath(symbol);
    this.#images.set(symbol, image);
    return image;
  }
}
