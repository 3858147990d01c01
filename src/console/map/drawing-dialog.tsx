/** The dialog that draws a note, a rectangle, an ellipse or a line, and changes one that is drawn. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import { changeDrawing, createDrawing } from '../api/drawings.js';
import { WordChoice } from '../parts/choice.js';
import { Dialog } from '../parts/dialog.js';
import { lookOf, type DrawingLook } from './drawing-commands.js';
import type { MapCommands } from './commands.js';
import { NODE_LAYER } from './drawings.js';
import type { LabMap } from './lab-map.js';
import {
  extentOf,
  onlyShape,
  PATTERNS,
  patternOf,
  SHAPE_KINDS,
  svgOf,
  usualShape,
  type DrawnShape,
} from './picture-source.js';
import { gripOf, stretched, type SizedShape } from './stretching.js';
import { MAP_TEXTS } from './texts.js';
import type { View } from './view.js';

interface DrawingDialogProps {
  readonly lab: LabMap;
  readonly commands: MapCommands;
  readonly view: View;
  /** The drawing that is changed; without it a new one is made. */
  readonly id: string | undefined;
  readonly onClose: () => void;
}

export function DrawingDialog({ lab, commands, view, id, onClose }: DrawingDialogProps): JSX.Element {
  const known = id === undefined ? undefined : lab.scene.drawings.get(id);
  const first = known === undefined ? usualShape('text') : onlyShape(known.picture);
  const shape = useSignal<DrawnShape | undefined>(first);
  const look = useSignal<Omit<DrawingLook, 'svg'>>(
    known === undefined ? { x: 0, y: 0, z: layerOf('text'), rotation: 0, locked: false } : lookOf(known),
  );
  const { value: drawn } = shape;
  const isUnchanged = known !== undefined && drawn === first;
  const svg = isUnchanged || drawn === undefined ? (known?.svg ?? '') : svgOf(drawn);
  const [width, height] = drawn === undefined ? [0, 0] : extentOf(drawn);
  const middle = { x: Math.round(view.x - width / 2), y: Math.round(view.y - height / 2) };
  const wanted: DrawingLook = { ...look.value, ...(known === undefined ? middle : {}), svg };
  const isEmpty = drawn?.kind === 'text' && drawn.lines.every((line) => line.trim() === '');
  const name = known === undefined ? MAP_TEXTS.draw : MAP_TEXTS.edit;
  const call =
    known === undefined
      ? createDrawing(lab.id, wanted)
      : changeDrawing(lab.id, known.id, isUnchanged ? look.value : wanted);
  const run = (): void => {
    void (known === undefined ? commands.drawings.add(wanted) : commands.drawings.edit(known.id, wanted));
    onClose();
  };
  return (
    <Dialog
      title={known === undefined ? MAP_TEXTS.draw : lab.nameOf(known.id)}
      onClose={onClose}
      action={{ name, call, isDisabled: isEmpty, run }}
    >
      {known === undefined && (
        <WordChoice
          label={MAP_TEXTS.shape}
          value={drawn?.kind ?? 'text'}
          words={SHAPE_KINDS}
          textOf={(word) => MAP_TEXTS.drawingKinds[word]}
          onWord={(word) => {
            shape.value = usualShape(word);
            look.value = { ...look.value, z: layerOf(word) };
          }}
        />
      )}
      {drawn !== undefined && <ShapeFields shape={shape as Signal<DrawnShape>} />}
      <div class="pairs">
        <Amount
          label={MAP_TEXTS.layer}
          value={look.value.z}
          least={-1000}
          most={1000}
          onValue={(z) => (look.value = { ...look.value, z })}
        />
        <Amount
          label={MAP_TEXTS.rotation}
          value={look.value.rotation}
          least={-359}
          most={360}
          onValue={(rotation) => (look.value = { ...look.value, rotation })}
        />
      </div>
      <Tick
        label={MAP_TEXTS.locked}
        isOn={look.value.locked}
        onChange={(locked) => (look.value = { ...look.value, locked })}
      />
      {known === undefined && <p class="hint">{MAP_TEXTS.drawHint}</p>}
    </Dialog>
  );
}

function ShapeFields({ shape }: { readonly shape: Signal<DrawnShape> }): JSX.Element {
  const { value: now } = shape;
  const put = (change: object): void => {
    shape.value = { ...now, ...change };
  };
  if (now.kind === 'text')
    return (
      <>
        <label>
          {MAP_TEXTS.text}
          <textarea
            rows={4}
            maxLength={LONGEST_NOTE}
            value={now.lines.join('\n')}
            onInput={({ currentTarget }) => put({ lines: currentTarget.value.split('\n') })}
          />
        </label>
        <div class="pairs">
          <Colour label={MAP_TEXTS.colour} value={now.fill} onValue={(fill) => put({ fill })} />
          <Amount
            label={MAP_TEXTS.size}
            value={Math.round((now.size * 3) / 4)}
            least={4}
            most={200}
            onValue={(points) => put({ size: (points * 4) / 3 })}
          />
        </div>
        <div class="ticks">
          <Tick label={MAP_TEXTS.bold} isOn={now.isBold} onChange={(isBold) => put({ isBold })} />
          <Tick label={MAP_TEXTS.italic} isOn={now.isItalic} onChange={(isItalic) => put({ isItalic })} />
          <Tick
            label={MAP_TEXTS.underlined}
            isOn={now.isUnderlined}
            onChange={(isUnderlined) => put({ isUnderlined })}
          />
        </div>
      </>
    );
  const pattern = patternOf(now.dashes);
  const isFilled = now.fill !== undefined && now.fillOpacity > 0;
  return (
    <>
      <Extent shape={now} put={put} />
      <div class="pairs">
        <Colour
          label={now.kind === 'line' ? MAP_TEXTS.colour : MAP_TEXTS.border}
          value={now.stroke}
          onValue={(stroke) => put({ stroke })}
        />
        <Amount
          label={MAP_TEXTS.thickness}
          value={now.strokeWidth}
          least={0}
          most={100}
          onValue={(strokeWidth) => put({ strokeWidth })}
        />
      </div>
      <WordChoice
        label={MAP_TEXTS.pattern}
        value={pattern ?? 'own'}
        words={pattern === undefined ? [...PATTERN_NAMES, 'own'] : PATTERN_NAMES}
        textOf={(word) => MAP_TEXTS.patterns[word]}
        onWord={(word) => {
          if (word !== 'own') put({ dashes: PATTERNS[word] });
        }}
      />
      {now.kind !== 'line' && (
        <>
          <Tick
            label={MAP_TEXTS.filled}
            isOn={isFilled}
            onChange={(isOn) => put({ fill: now.fill ?? '#ffffff', fillOpacity: isOn ? 1 : 0 })}
          />
          {isFilled && (
            <Colour label={MAP_TEXTS.filling} value={now.fill} onValue={(fill) => put({ fill })} />
          )}
        </>
      )}
    </>
  );
}

interface ExtentProps {
  readonly shape: SizedShape;
  readonly put: (change: object) => void;
}

function Extent({ shape, put }: ExtentProps): JSX.Element {
  const isLine = shape.kind === 'line';
  const [width, height] =
    shape.kind === 'line' ? [shape.x2 - shape.x1, shape.y2 - shape.y1] : extentOf(shape);
  const [right, below] = gripOf(shape);
  const set = (across: number, down: number): void => {
    put(stretched(shape, right - width + across, below - height + down));
  };
  const least = isLine ? -MOST_LENGTH : 1;
  return (
    <div class="pairs">
      <Amount
        label={isLine ? MAP_TEXTS.right : MAP_TEXTS.width}
        {...{ value: width, least, most: MOST_LENGTH }}
        onValue={(across) => {
          set(across, height);
        }}
      />
      <Amount
        label={isLine ? MAP_TEXTS.down : MAP_TEXTS.height}
        {...{ value: height, least, most: MOST_LENGTH }}
        onValue={(down) => {
          set(width, down);
        }}
      />
    </div>
  );
}

const MOST_LENGTH = 20_000;
const LONGEST_NOTE = 10_000;
const PATTERN_NAMES: readonly (keyof typeof MAP_TEXTS.patterns)[] = ['solid', 'dashed', 'dotted'];

/** Notes lie above nodes, figures behind them. */
function layerOf(kind: DrawnShape['kind']): number {
  return kind === 'text' ? NODE_LAYER + 1 : NODE_LAYER;
}

interface AmountProps {
  readonly label: string;
  readonly value: number;
  readonly least: number;
  readonly most: number;
  readonly onValue: (value: number) => void;
}

function Amount({ label, value, least, most, onValue }: AmountProps): JSX.Element {
  return (
    <label>
      {label}
      <input
        type="number"
        required
        step="any"
        min={least}
        max={most}
        value={value}
        onInput={({ currentTarget: { valueAsNumber: number } }) => {
          if (Number.isFinite(number)) onValue(Math.min(most, Math.max(least, Math.round(number))));
        }}
      />
    </label>
  );
}

interface ColourProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onValue: (colour: string) => void;
}

/** A colour by a name that the field does not know is shown as black, and stays until another is chosen. */
function Colour({ label, value = '', onValue }: ColourProps): JSX.Element {
  return (
    <label>
      {label}
      <input
        type="color"
        value={/^#[\da-f]{6}$/i.test(value) ? value : '#000000'}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </label>
  );
}

interface TickProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

function Tick({ label, isOn, onChange }: TickProps): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isOn}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      {label}
    </label>
  );
}
