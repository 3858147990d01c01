/** The map: a canvas that is painted when something has changed, and never otherwise. */
import { effect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { mayOn } from '../state/grants.js';
import { mapLayers, scheme } from '../state/preferences.js';
import { coloursOf, type Colours } from './colours.js';
import type { MapCommands } from './commands.js';
import { Gestures } from './gestures.js';
import { neighbour } from './hit-test.js';
import type { LabMap } from './lab-map.js';
import { DrawingPainter } from './drawing-painter.js';
import { Minimap } from './minimap.js';
import { PlatedPainter } from './plate.js';
import { Symbols } from './symbols.js';
import { MAP_TEXTS } from './texts.js';
import { View } from './view.js';

/** The map as data, for tests and for programs of others. */
declare global {
  var wirefarmMap: { readonly lab: LabMap; readonly view: View } | undefined;
}

interface CanvasProps {
  readonly lab: LabMap;
  readonly commands: MapCommands;
  readonly eye: Eye;
  readonly onLinked: (from: string, to: string) => void;
  readonly onOpened: () => void;
}

const STEP = 1.25;
const PAN = 60;
/** After so long without a movement a large map rests. */
const REST_MS = 150;
const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The view, and what commands of the page do with it. */
export class Eye {
  readonly view = new View();
  repaint: () => void = () => undefined;
  beginLink: (from: string) => void = () => undefined;
  cancel: () => void = () => undefined;
  hasFitted = false;
  readonly #lab: LabMap;

  constructor(lab: LabMap) {
    this.#lab = lab;
  }

  zoom(factor: number): void {
    this.view.zoomAt(this.view.width / 2, this.view.height / 2, factor);
    this.repaint();
  }

  larger(): void {
    this.zoom(STEP);
  }

  smaller(): void {
    this.zoom(1 / STEP);
  }

  fit(ids?: ReadonlySet<string>): void {
    const bounds = this.#lab.scene.bounds(ids);
    if (bounds !== undefined) this.view.fit(bounds);
    this.repaint();
  }

  reveal(id: string): void {
    const middle = this.#lab.scene.middleOf(id);
    if (middle === undefined) return;
    this.view.reveal(...middle);
    this.repaint();
  }
}

export function MapCanvas({ lab, commands, eye, onLinked, onOpened }: CanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const small = useRef<HTMLCanvasElement>(null);
  const handlers = useRef({ onLinked, onOpened });
  handlers.current = { onLinked, onOpened };
  const gestures = useRef<Gestures | undefined>(undefined);
  const mayMove = (): boolean => mayOn(lab.id, 'projects:write');
  useEffect(() => {
    const { current: element } = canvas;
    const context = element?.getContext('2d', { alpha: false });
    if (element === null || context == null) return undefined;
    const { view } = eye;
    let colours: Colours = coloursOf(element.parentElement ?? document.body);
    let [asked, pictures] = [0, 0];
    let resting: ReturnType<typeof setTimeout> | undefined;
    const paint = (): void => {
      asked = 0;
      const { frame, linking } = hands;
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      const { value: layers } = mapLayers;
      const overlay = {
        ...{ selected: lab.selected.value, focused: lab.focused.value, frame, linking, layers },
        hasGrip: mayMove(),
      };
      clearTimeout(resting);
      const state = painter.paint(context, lab.scene, view, { colours, symbols }, overlay, pictures);
      if (state === 'moving') resting = setTimeout(rest, REST_MS);
      if (small.current !== null && layers.has('minimap'))
        minimap.paint(small.current, lab.scene, view, colours);
    };
    const repaint = (): void => {
      if (asked === 0) asked = requestAnimationFrame(paint);
    };
    const loaded = (): void => {
      pictures++;
      repaint();
    };
    const rest = (): void => {
      painter.rest();
      repaint();
    };
    const symbols = new Symbols(loaded);
    const painter = new PlatedPainter(new DrawingPainter(loaded));
    const minimap = new Minimap();
    const hands = new Gestures(lab, view, {
      changed: repaint,
      moved: (ids, dx, dy) => void commands.move(ids, dx, dy),
      stretched: (id, svg) => void commands.drawings.redraw(id, svg),
      linked: (to) => {
        const from = hands.linking?.from ?? '';
        hands.linking = undefined;
        if (from !== to) handlers.current.onLinked(from, to);
      },
      opened: () => {
        handlers.current.onOpened();
      },
    });
    gestures.current = hands;
    Object.assign(eye, {
      repaint,
      beginLink: (from: string) => {
        const index = lab.scene.nodeIndex(from) ?? 0;
        const [x, y] = [view.toScreenX(lab.scene.x[index] ?? 0), view.toScreenY(lab.scene.y[index] ?? 0)];
        hands.linking = { from, x, y };
        repaint();
      },
      cancel: () => {
        hands.cancel();
      },
    });
    const resize = (): void => {
      view.width = element.clientWidth;
      view.height = element.clientHeight;
      element.width = Math.round(view.width * devicePixelRatio);
      element.height = Math.round(view.height * devicePixelRatio);
      if (!eye.hasFitted && lab.scene.bounds() !== undefined) {
        eye.hasFitted = true;
        eye.fit();
      }
      repaint();
    };
    const observer = new ResizeObserver(resize);
    observer.observe(element);
    const recolour = (): void => {
      colours = coloursOf(element.parentElement ?? document.body);
      repaint();
    };
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', recolour);
    const ends = [
      effect(() => {
        void scheme.value;
        queueMicrotask(recolour);
      }),
      effect(() => {
        void [lab.revision.value, lab.rateRevision.value, lab.selected.value, lab.focused.value];
        void mapLayers.value;
        repaint();
      }),
    ];
    globalThis.wirefarmMap = { lab, view };
    return () => {
      globalThis.wirefarmMap = undefined;
      cancelAnimationFrame(asked);
      clearTimeout(resting);
      observer.disconnect();
      dark.removeEventListener('change', recolour);
      for (const end of ends) end();
    };
  }, []);

  const at = ({ clientX, clientY }: MouseEvent): { x: number; y: number } => {
    const { left = 0, top = 0 } = canvas.current?.getBoundingClientRect() ?? {};
    return { x: clientX - left, y: clientY - top };
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const arrow = ARROWS[event.key];
    const focused = lab.focused.value;
    if (arrow !== undefined && event.shiftKey) {
      const far = event.altKey ? 10 : 1;
      if (mayMove()) void commands.move(lab.movable, 10 * far * arrow[0], 10 * far * arrow[1]);
    } else if (arrow !== undefined && event.altKey) {
      eye.view.pan(-PAN * arrow[0], -PAN * arrow[1]);
      eye.repaint();
    } else if (arrow !== undefined) {
      goTo(lab, eye, nextNode(lab, eye.view, focused, arrow));
    } else if (event.key === '[' || event.key === ']') {
      goTo(lab, eye, alongLink(lab, focused, event.key === ']' ? 1 : -1));
    } else if (event.key === 'Enter') {
      onOpened();
    } else if (event.key === ' ') {
      if (gestures.current !== undefined) gestures.current.pans = true;
    } else if (event.key === 'Escape') {
      eye.cancel();
      lab.select([]);
    } else {
      return;
    }
    event.preventDefault();
  };
  const onKeyUp = (event: KeyboardEvent): void => {
    if (event.key === ' ' && gestures.current !== undefined) gestures.current.pans = false;
  };
  return (
    <div class="map-area">
      <canvas
        ref={canvas}
        class="map"
        tabIndex={0}
        role="application"
        aria-label={MAP_TEXTS.map(lab.name.value)}
        aria-description={MAP_TEXTS.mapHint}
        onKeyDown={onKeyDown}
        onKeyUp={onKeyUp}
        onPointerDown={(event) => {
          canvas.current?.focus();
          canvas.current?.setPointerCapture(event.pointerId);
          if (gestures.current !== undefined) gestures.current.mayMove = mayMove();
          gestures.current?.down(event, at(event));
        }}
        onPointerMove={(event) => gestures.current?.move(event, at(event))}
        onPointerUp={(event) => gestures.current?.up(event)}
        onPointerCancel={() => gestures.current?.cancel()}
        onDblClick={(event) => gestures.current?.twice(at(event))}
        onContextMenu={(event) => {
          event.preventDefault();
        }}
        onWheel={(event) => {
          event.preventDefault();
          gestures.current?.wheel(event, at(event));
        }}
      />
      <canvas
        ref={small}
        class="minimap"
        hidden={!mapLayers.value.has('minimap')}
        aria-hidden="true"
        width={160}
        height={100}
        onPointerDown={(event) => {
          lookAt(event, lab, eye);
        }}
      />
    </div>
  );
}

function goTo(lab: LabMap, eye: Eye, id: string | undefined): void {
  if (id === undefined) return;
  lab.select([id]);
  eye.reveal(id);
}

/** The nearest node in the direction; without a focus the one in the middle of the view. */
function nextNode(
  { scene }: LabMap,
  view: View,
  focused: string | undefined,
  [dx, dy]: readonly [number, number],
): string | undefined {
  const from = scene.nodeIndex(focused ?? '');
  if (from !== undefined) return scene.nodes[neighbour(scene, from, dx, dy) ?? from]?.id;
  let [nearest, best]: [string | undefined, number] = [undefined, Infinity];
  for (const [index, { id }] of scene.nodes.entries()) {
    const distance = Math.hypot((scene.x[index] ?? 0) - view.x, (scene.y[index] ?? 0) - view.y);
    if (distance < best) [nearest, best] = [id, distance];
  }
  return nearest;
}

/** From a node to its links in turn, from a link to its other end. */
function alongLink({ scene }: LabMap, focused: string | undefined, step: 1 | -1): string | undefined {
  if (focused === undefined) return undefined;
  const link = scene.link(focused);
  if (link !== undefined) return link.ends[step === 1 ? 1 : 0].node;
  return scene.linksOf(focused).at(step === 1 ? 0 : -1)?.id;
}

function lookAt({ offsetX, offsetY, currentTarget }: PointerEvent, { scene }: LabMap, eye: Eye): void {
  const bounds = scene.bounds();
  if (bounds === undefined || !(currentTarget instanceof HTMLCanvasElement)) return;
  const [left, top, right, bottom] = bounds;
  eye.view.x = left + (offsetX / currentTarget.clientWidth) * (right - left);
  eye.view.y = top + (offsetY / currentTarget.clientHeight) * (bottom - top);
  eye.repaint();
}
