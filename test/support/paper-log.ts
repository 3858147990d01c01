/** A log whose lines a test reads. */
import { pino } from 'pino';

export interface LogLine {
  readonly msg: string;
  readonly reason?: string;
  readonly [field: string]: unknown;
}

export class PaperLog {
  readonly lines: LogLine[] = [];
  readonly log = pino({}, { write: (line: string) => this.lines.push(JSON.parse(line) as LogLine) });

  /** The lines whose message has this text, in order. */
  with(text: string): LogLine[] {
    return this.lines.filter(({ msg }) => msg.includes(text));
  }

  /** Why a loop was started again, each time. */
  get restartReasons(): (string | undefined)[] {
    return this.with('was restarted').map(({ reason }) => reason);
  }
}
