/** Lets sides do their work in turn, in one order and in the next round in the other, and makes the figures. */
import { ratioFigures } from '../files/ratios.js';
import { MEBI } from '../files/random-file.js';
import { figure, type Figure } from '../measurement.js';
import type { Turn } from './turn.js';

export const WIREFARM = 'Wirefarm';

export interface Stage {
  readonly name: string;
  /** Only so many rounds have it: for what takes long and hardly varies. */
  readonly rounds?: number;
  /** The aim for Wirefarm, in seconds. */
  readonly aim?: string;
  /** The length of the content that every side moves, when that is what takes the time. */
  readonly contentMiB?: number;
  readonly sides: readonly Side[];
  /** Neither is measured. */
  readonly prepare?: () => Promise<void>;
  readonly tidy?: () => Promise<void> | void;
}

export interface Side {
  readonly name: string;
  readonly measure: () => Promise<Turn>;
}

/** The turns of each stage, and of each of its sides by name. */
export type Turns = ReadonlyMap<Stage, ReadonlyMap<string, readonly Turn[]>>;

/** The stages follow each other in every round: one needs what the ones before it have left. */
export async function inStages(stages: readonly Stage[], rounds: number): Promise<Turns> {
  const turns = new Map(
    stages.map((stage) => [stage, new Map(stage.sides.map(({ name }) => [name, new Array<Turn>()]))]),
  );
  for (let round = 0; round < rounds; round++) {
    for (const stage of stages) {
      if (round >= (stage.rounds ?? rounds)) continue;
      await stage.prepare?.();
      for (const { name, measure } of round % 2 === 0 ? stage.sides : stage.sides.toReversed()) {
        turns
          .get(stage)
          ?.get(name)
          ?.push(await measure());
      }
      await stage.tidy?.();
    }
  }
  return turns;
}

export function stageFigures(setting: string, turns: Turns): Figure[] {
  return [...turns].flatMap(([stage, bySide]) => {
    const name = `${setting}${stage.name}`;
    const seconds = new Map([...bySide].map(([side, list]) => [side, list.map((turn) => turn.seconds)]));
    const ratios = [...bySide.keys()]
      .filter((side) => side !== WIREFARM)
      .map((side) => ({ of: WIREFARM, to: side }));
    return [
      ...[...bySide].flatMap(([side, list]) => [
        ...sideFigures(name, side, list, stage.aim),
        ...rateFigures(`${name}, ${side}`, list, stage.contentMiB),
      ]),
      ...ratioFigures(`${name}, time`, seconds, ratios),
    ];
  });
}

function sideFigures(stage: string, side: string, turns: readonly Turn[], aim: string | undefined): Figure[] {
  const name = `${stage}, ${side}`;
  const each = (what: string, unit: string, value: (turn: Turn) => number): Figure =>
    figure(`${name}${what}`, unit, turns.map(value), what === '' && side === WIREFARM ? aim : undefined);
  return [
    each('', 's', ({ seconds }) => seconds),
    each(', CPU', 's', ({ cpuSeconds }) => cpuSeconds),
    each(', written', 'MiB', ({ writtenMiB }) => writtenMiB),
    ...servedFigures(name, turns),
  ];
}

function rateFigures(name: string, turns: readonly Turn[], contentMiB: number | undefined): Figure[] {
  if (contentMiB === undefined) return [];
  const [gigabytes, gibibytes] = [(contentMiB * MEBI) / 1e9, contentMiB / 1024];
  return [
    figure(
      `${name}, rate`,
      'GB/s',
      turns.map(({ seconds }) => gigabytes / seconds),
    ),
    figure(
      `${name}, CPU a GiB`,
      's',
      turns.map(({ cpuSeconds }) => cpuSeconds / gibibytes),
    ),
  ];
}

function servedFigures(name: string, turns: readonly Turn[]): Figure[] {
  const served = turns.flatMap((turn) => turn.served ?? []);
  if (served.length === 0) return [];
  const delays = (what: 'p99' | 'p999' | 'max'): number[] => served.map(({ loop }) => loop[what]);
  return [
    figure(`${name}, delay of the event loop, p99`, 'ms', delays('p99'), 'less than 10'),
    figure(`${name}, delay of the event loop, p99.9`, 'ms', delays('p999'), 'less than 10'),
    figure(`${name}, delay of the event loop, longest`, 'ms', delays('max')),
    figure(
      `${name}, work behind the answer`,
      's',
      served.map(({ secondsAfterwards }) => secondsAfterwards),
    ),
    figure(
      `${name}, a sync after all that`,
      's',
      served.map(({ syncSeconds }) => syncSeconds),
    ),
  ];
}
