/** The images of drawings: bitmaps, and pictures that are more than a few shapes. In an image nothing runs and nothing is loaded. */

const MOST_IMAGES = 200;
const HEAD = /^data:(image\/[a-z]+);base64,/i;

export class Images {
  readonly #loaded: () => void;
  readonly #images = new Map<string, HTMLImageElement>();

  constructor(loaded: () => void) {
    this.#loaded = loaded;
  }

  /** The image; undefined while it is on its way, and when it is none. */
  at(source: string): HTMLImageElement | undefined {
    const image = this.#images.get(source) ?? this.#load(source);
    return image.complete && image.naturalWidth > 0 ? image : undefined;
  }

  #load(source: string): HTMLImageElement {
    const image = new Image();
    if (this.#images.size >= MOST_IMAGES) this.#images.clear();
    this.#images.set(source, image);
    const blob = blobOf(source);
    if (blob === undefined) return image;
    const url = URL.createObjectURL(blob);
    const end = (): void => {
      URL.revokeObjectURL(url);
      this.#loaded();
    };
    image.onload = end;
    image.onerror = end;
    image.src = url;
    return image;
  }
}

function blobOf(source: string): Blob | undefined {
  const head = HEAD.exec(source);
  if (head === null) return source === '' ? undefined : new Blob([source], { type: 'image/svg+xml' });
  try {
    const octets = atob(source.slice(head[0].length));
    return new Blob([Uint8Array.from(octets, (sign) => sign.charCodeAt(0))], { type: head[1] ?? '' });
  } catch {
    return undefined;
  }
}
