/** Pages of metrics, as `promtool` judges them and as numbers by series. */
import { execFile } from 'node:child_process';
import type { Client } from './client.js';

export const OPEN_METRICS = { accept: 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5' };

export type Samples = ReadonlyMap<string, number>;

/** The numbers of a page by their series. Throws for a line that is neither a comment nor a sample. */
export function samplesOf(page: string): Samples {
  const samples = new Map<string, number>();
  for (const line of page.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, series = '', value] = /^([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    if (Number.isNaN(Number(value)) || samples.has(series)) throw new Error(`no sample: ${line}`);
    samples.set(series, Number(value));
  }
  return samples;
}

/** The series that count, and so must never fall. */
export function isCount(series: string): boolean {
  return /^\w+_(total|count|bucket|sum)\b/.test(series);
}

export async function scrape(client: Client, path = '/metrics'): Promise<Samples> {
  const { status, text } = await client.get(path);
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return samplesOf(text);
}

/** The complaints of `promtool` about a page; undefined when the host does not have it. */
export function complaintsOf(page: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const tool = execFile('promtool', ['check', 'metrics'], (error, stdout, stderr) => {
      if (error?.code === 'ENOENT') resolve(undefined);
      else if (error === null || stdout + stderr !== '') resolve(stdout + stderr);
      else reject(new Error('promtool failed', { cause: error }));
    });
    tool.stdin?.on('error', () => undefined);
    tool.stdin?.end(page);
  });
}
