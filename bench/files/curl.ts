/** Transfers of whole files by curl, the client that everybody has: a process for each, or one for many. */
import { command } from './command.js';

export interface CurlUpload {
  readonly file: string;
  readonly url: string;
  readonly method: 'POST' | 'PUT';
  /** As they are sent. */
  readonly headers?: readonly string[];
}

const ALWAYS = ['--disable', '--silent', '--show-error', '--fail', '--noproxy', '*'];

/** Returns how many octets were sent. */
export async function curlUpload({ file, url, method, headers = [] }: CurlUpload): Promise<number> {
  const sent = ['Expect:', ...headers].flatMap((header) => ['--header', header]);
  const report = ['--output', '/dev/null', '--write-out', '%{size_upload}'];
  return Number(await curl(['--upload-file', file, '--request', method, ...sent, ...report, url]));
}

/** Returns how many octets came. */
export async function curlDownload(url: string, to = '/dev/null'): Promise<number> {
  return Number(await curl(['--output', to, '--write-out', '%{size_download}', url]));
}

/** All at once, by one process. Returns how many octets came. */
export async function curlDownloads(urls: readonly string[]): Promise<number> {
  const wanted = urls.flatMap((url) => ['--output', '/dev/null', url]);
  const all = ['--parallel', '--parallel-immediate', '--parallel-max', String(urls.length)];
  const sizes = await curl([...all, '--write-out', '%{size_download}\\n', ...wanted]);
  return sizes
    .trim()
    .split('\n')
    .reduce((sum, size) => sum + Number(size), 0);
}

/** `--disable` counts only as the first argument. */
function curl(args: readonly string[]): Promise<string> {
  return command('curl', [...ALWAYS, ...args]);
}
