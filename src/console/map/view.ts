/** The part of a picture that is seen: its middle, and how large it is. */

const SMALLEST = 0.03;
const LARGEST = 4;
/** So many pixels are free around a picture that is seen as a whole. */
const MARGIN = 48;

export class View {
  x = 0;
  y = 0;
  zoom = 1;
  width = 1;
  height = 1;

  toScreenX(x: number): number {
    return (x - this.x) * this.zoom + this.width / 2;
  }

  toScreenY(y: number): number {
    return (y - this.y) * this.zoom + this.height / 2;
  }

  toWorldX(x: number): number {
    return (x - this.width / 2) / this.zoom + this.x;
  }

  toWorldY(y: number): number {
    return (y - this.height / 2) / this.zoom + this.y;
  }

  /** Moves the picture by so many pixels. */
  pan(dx: number, dy: number): void {
    this.x -= dx / this.zoom;
    this.y -= dy / this.zoom;
  }

  /** Zooms; what is at this place of the screen stays there. */
  zoomAt(screenX: number, screenY: number, factor: number): void {
    const [x, y] = [this.toWorldX(screenX), this.toWorldY(screenY)];
    this.zoom = Math.min(LARGEST, Math.max(SMALLEST, this.zoom * factor));
    this.x = x - (screenX - this.width / 2) / this.zoom;
    this.y = y - (screenY - this.height / 2) / this.zoom;
  }

  /** Shows these edges as a whole, but nothing larger than it is. */
  fit([left, top, right, bottom]: readonly [number, number, number, number]): void {
    this.x = (left + right) / 2;
    this.y = (top + bottom) / 2;
    const across = (this.width - 2 * MARGIN) / Math.max(1, right - left);
    const down = (this.height - 2 * MARGIN) / Math.max(1, bottom - top);
    this.zoom = Math.min(1, Math.max(SMALLEST, Math.min(across, down)));
  }

  /** Moves as little as needed to show a place. */
  reveal(x: number, y: number): void {
    const [halfWidth, halfHeight] = [this.width / 2 - MARGIN, this.height / 2 - MARGIN].map(
      (half) => Math.max(0, half) / this.zoom,
    ) as [number, number];
    this.x = Math.min(Math.max(this.x, x - halfWidth), x + halfWidth);
    this.y = Math.min(Math.max(this.y, y - halfHeight), y + halfHeight);
  }
}
