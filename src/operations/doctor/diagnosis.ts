/** The outcome of the checks of a host, and the text of it for people. Pure. */

type DiagnosisLevel =
  | 'ok'
  /** Something is not there that this server may do without. */
  | 'note'
  | 'warning'
  | 'failure';

/** The outcome of one check. */
export interface Diagnosis {
  readonly id: string;
  readonly level: DiagnosisLevel;
  readonly found: string;
  /** The consequence for labs and clients. */
  readonly means?: string | undefined;
  /** The command that repairs it. */
  readonly repair?: string | undefined;
}

export interface Examination {
  readonly level: DiagnosisLevel;
  readonly checks: readonly Diagnosis[];
}

const LEVELS: readonly DiagnosisLevel[] = ['ok', 'note', 'warning', 'failure'];
const EXIT_CODES: Readonly<Record<DiagnosisLevel, number>> = { ok: 0, note: 0, warning: 1, failure: 2 };

/** The whole is as bad as its worst part. */
export function examinationOf(checks: readonly Diagnosis[]): Examination {
  const worst = Math.max(0, ...checks.map(({ level }) => LEVELS.indexOf(level)));
  return { level: LEVELS[worst] ?? 'failure', checks };
}

/** 0 when nothing is wrong, 1 for warnings, 2 when something fails. */
export function exitCodeOf({ level }: Examination): number {
  return EXIT_CODES[level];
}

/** The worst comes last, where people look in a terminal. */
export function examinationText({ checks }: Examination): string {
  const sorted = LEVELS.flatMap((wanted) => checks.filter(({ level }) => level === wanted));
  const lines = sorted.flatMap(({ id, level, found, means, repair }) => [
    `${level.padEnd(8)} ${id}: ${found}`,
    ...(means === undefined ? [] : [`         means   ${means}`]),
    ...(repair === undefined ? [] : [`         repair  ${repair}`]),
  ]);
  const count = (level: DiagnosisLevel): number => checks.filter((check) => check.level === level).length;
  return [
    ...lines,
    `${checks.length} checks, ${count('warning')} warnings, ${count('failure')} failures`,
    '',
  ].join('\n');
}
