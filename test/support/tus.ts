/** Requests of the tus protocol, one by one. */
import type { Client, Reply } from './client.js';

export const TUS = { 'Tus-Resumable': '1.0.0' };
export const OFFSET_STREAM = 'application/offset+octet-stream';

export function metadataOf(entries: Readonly<Record<string, string>>): string {
  return Object.entries(entries)
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',');
}

export const image = (filename: string, more: Record<string, string> = {}): Record<string, string> => ({
  emulator: 'qemu',
  filename,
  ...more,
});

export class TusTalk {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  begin(
    size: number | string,
    metadata: Readonly<Record<string, string>>,
    headers: Record<string, string> = {},
    bytes?: Uint8Array,
  ): Promise<Reply> {
    return this.#client.request('POST', '/v2/uploads', bytes, {
      ...TUS,
      'Upload-Length': String(size),
      'Upload-Metadata': metadataOf(metadata),
      ...headers,
    });
  }

  /** The path of a new upload. */
  async created(size: number, metadata: Readonly<Record<string, string>>): Promise<string> {
    const reply = await this.begin(size, metadata);
    if (reply.status !== 201) throw new Error(`no upload was created: ${reply.status} ${reply.text}`);
    return reply.headers.get('location') ?? '';
  }

  patch(
    path: string,
    offset: number | string,
    bytes: Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    return this.#client.request('PATCH', path, bytes, {
      ...TUS,
      'Upload-Offset': String(offset),
      'Content-Type': OFFSET_STREAM,
      ...headers,
    });
  }

  head(path: string): Promise<Reply> {
    return this.#client.request('HEAD', path, undefined, TUS);
  }

  delete(path: string): Promise<Reply> {
    return this.#client.request('DELETE', path, undefined, TUS);
  }

  async offset(path: string): Promise<number> {
    const { status, headers } = await this.head(path);
    return status === 200 ? Number(headers.get('upload-offset')) : NaN;
  }
}
