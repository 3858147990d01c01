/** The frames of a page, read from the browser's own trace: how long its scripts and its painting took for each. */
import type { Browser, Page } from 'playwright-core';

const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'v8.execute'];
/** A frame ends when what the page has painted is handed on. */
const END = 'Commit';
const SCRIPT = new Set(['FireAnimationFrame', 'EventDispatch', 'TimerFire', 'FunctionCall', 'RunMicrotasks']);
const PAINT = new Set(['UpdateLayoutTree', 'Layout', 'PrePaint', 'Paint', 'Layerize', 'UpdateLayer', END]);
const MICROSECONDS = 1000;

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
}

export interface Frames {
  /** Milliseconds of each frame. */
  readonly script: readonly number[];
  readonly paint: readonly number[];
  readonly perSecond: number;
}

/** Runs the script, an expression that is a promise, and returns the frames that were shown meanwhile. */
export async function framesOf(browser: Browser, page: Page, script: string): Promise<Frames> {
  await browser.startTracing(page, { categories: CATEGORIES });
  await page.evaluate(script);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const own = traceEvents.find(({ name }) => name === 'FireAnimationFrame');
  const events = traceEvents
    .filter(({ ph, pid, tid }) => ph === 'X' && pid === own?.pid && tid === own.tid)
    .sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0));
  const frames: { script: number; paint: number; end: number }[] = [];
  let [scriptMs, paintMs, counted] = [0, 0, 0];
  for (const { name, ts, dur = 0 } of events) {
    const ms = dur / MICROSECONDS;
    // The calls of a script are in its time already.
    if (SCRIPT.has(name) && ts >= counted) {
      scriptMs += ms;
      counted = ts + dur;
    }
    if (PAINT.has(name) && ts >= counted) paintMs += ms;
    if (name !== END) continue;
    frames.push({ script: scriptMs, paint: paintMs, end: ts + dur });
    [scriptMs, paintMs] = [0, 0];
  }
  // The first frame has what came before the script as well.
  frames.shift();
  const seconds = ((frames.at(-1)?.end ?? 0) - (frames[0]?.end ?? 0)) / (1000 * MICROSECONDS);
  return {
    script: frames.map(({ script: ms }) => ms),
    paint: frames.map(({ paint: ms }) => ms),
    perSecond: (frames.length - 1) / seconds,
  };
}
