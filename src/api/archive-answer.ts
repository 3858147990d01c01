/** Sends archives of projects and snapshots, whole or from where a download was broken off. */
import type { Answer } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import type { FileThreads } from '../http/file-source.js';
import { sendBody } from '../http/file-transfer.js';
import { attachmentHeader } from '../http/headers.js';
import { SegmentSource } from '../http/segment-source.js';
import type { PlannedArchive } from '../snapshots/projects/project-exports.js';

export const ARCHIVE = 'application/gns3project';

/** An archive of stored members has a length and a tag, and is served in part; a packed one is made while it is sent. */
export async function sendArchive(
  exchange: Exchange,
  files: FileThreads,
  archive: PlannedArchive,
  filename: string,
): Promise<Answer> {
  const headers = [attachmentHeader(filename)];
  if (archive.layout === undefined) {
    return exchange.streamTail(ARCHIVE, await archive.packed(), headers);
  }
  return sendBody(exchange, {
    ...archive.layout,
    media: ARCHIVE,
    headers,
    open: async (start) => new SegmentSource(files, await archive.stored(start)),
    close: () => {
      archive.close();
    },
  });
}
