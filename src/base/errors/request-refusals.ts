/** The refusals of what comes over HTTP, and of files that come or go. */
import { Refusal, shortened } from './refusal.js';

export const requestRefusals = {
  // Requests
  badRequest: (message: string) => new Refusal(400, message),
  unauthorized: () => new Refusal(401, 'This server needs a user name and a password'),
  tooManyGuesses: (seconds: number) =>
    new Refusal(503, 'Too many wrong passwords came from this address: try again later', {
      retryAfterSeconds: seconds,
    }),
  pathUnknown: (path: string) => new Refusal(404, `No such path: ${path}`),
  methodUnknown: (method: string, path: string) =>
    new Refusal(405, `Method ${method} is not allowed on ${path}`),
  requestTooSlow: (seconds: number) =>
    new Refusal(408, `The request body was not complete within ${seconds} s`),
  bodyTooLarge: (limit: number) => new Refusal(413, `Maximum request body size ${limit} exceeded.`),
  originRefused: (origin: string) =>
    new Refusal(403, `Requests from the origin ${shortened(origin)} are not allowed`),
  hostRefused: (host: string) =>
    new Refusal(
      403,
      `This server does not know that it is called ${shortened(host)}: start it with --allow-hosts if it is`,
    ),
  webSocketOnly: () => new Refusal(400, 'This path speaks WebSocket: no valid upgrade request was found'),
  stopLocalOnly: () => new Refusal(403, 'You can only stop a local server'),
  loadLocalOnly: () => new Refusal(403, 'You can only load a file of a local server'),
  tooBusy: () => new Refusal(503, 'Too many requests are waiting, try again'),
  tooManyConnections: () =>
    new Refusal(503, 'This server has no room for another connection, try again later'),
  tooManyConnectionsOfOne: () =>
    new Refusal(503, 'Your address has half of all connections that this server can have: close some'),
  clientGone: () => new Refusal(503, 'The client has gone: nothing was done for it'),
  stopping: () => new Refusal(503, 'The server is stopping'),

  // Disk
  diskFull: (cause?: unknown) =>
    new Refusal(507, 'No space left on the disk of the data folder: nothing was changed', { cause }),
  diskFloor: (octets: number, free: number, floor: number) =>
    new Refusal(
      507,
      `No space left for ${inMebibytes(octets)} more: the disk has ${inMebibytes(free)} free, of which uploads, imports ` +
        `and snapshots leave ${inMebibytes(floor)} for the labs (--upload-floor). Make room on it`,
    ),
  diskFailing: (code: string, cause?: unknown) =>
    new Refusal(503, `The disk of the data folder could not be written (${code}): nothing was changed`, {
      cause,
    }),
  fileMissing: () => new Refusal(404, '404: Not Found'),
  fileForbidden: () => new Refusal(403, '403: Forbidden'),
  fileNameTooLong: () => new Refusal(400, 'The file name is too long'),
  fileTooLarge: (name: string, limit: number) =>
    new Refusal(409, `The file ${name} is larger than ${limit} bytes`),
  rangeBeyondEnd: (size: number) => new Refusal(416, `The range begins beyond the ${size} bytes of the file`),
  isDirectory: (path: string) => new Refusal(409, `Is a directory: '${path}'`),
  notDirectory: (path: string) => new Refusal(409, `A part of the path is not a directory: '${path}'`),

  // Uploads
  uploadLost: (reason: string) =>
    new Refusal(
      500,
      `The upload was lost, because the thread that wrote it ended (${reason}): send it again`,
    ),
  uploadGaveWay: () =>
    new Refusal(
      503,
      'Other uploads needed the place of this one, of which nothing had come for longest: send it again',
    ),
  uploadDiffers: (digest: string) =>
    new Refusal(
      400,
      `What has come is not what was sent: its ${digest} differs. Nothing was changed, send it again`,
    ),
  uploadOvertaken: () =>
    new Refusal(409, 'The file that is replaced was changed meanwhile. Nothing was changed, send it again'),
  uploadDigestUnreadable: (header: string) =>
    new Refusal(400, `The header ${header} is no digest that could be checked`),

  // Resumable uploads
  uploadUnknown: (id: string) => new Refusal(404, `Upload ID ${id.slice(0, 200)} doesn't exist`),
  uploadHeader: (header: string, reason: string) => new Refusal(400, `Invalid ${header}: ${reason}`),
  uploadExtension: (header: string) =>
    new Refusal(400, `${header}: this server does not offer that extension of the tus protocol`),
  uploadVersion: (version: string) =>
    new Refusal(412, `Requests on uploads need the header Tus-Resumable: ${version}`),
  uploadMediaType: (media: string) => new Refusal(415, `The bytes of an upload are sent as ${media}`),
  uploadOffset: (offset: number, received: number) =>
    new Refusal(409, `Upload-Offset is ${offset}, but ${received} bytes are here: go on from there`),
  uploadTakenOver: () => new Refusal(409, 'Another request has taken over this upload: ask for its offset'),
  uploadTooLong: (size: number) => new Refusal(413, `More is sent than the ${size} bytes of this upload`),
  uploadChecksum: () => new Refusal(460, 'The bytes do not match their Upload-Checksum: they were dropped'),
  uploadDigest: (digest: string) =>
    new Refusal(460, `The upload does not have the ${digest} digest that was promised: it was dropped`),
  tooManyUploads: (limit: number) =>
    new Refusal(503, `There are ${limit} unfinished uploads, which is all that is allowed: delete some`),

  // Images
  imageMissing: (name: string) =>
    new Refusal(409, `The image ${shortened(name)} is missing`, {
      details: { exception: 'ImageMissingError', image: shortened(name) },
    }),
  imageOutside: (doing: string, name: string) =>
    new Refusal(403, `Could not ${doing} image: ${shortened(name)}, it would leave the images folder`),
  imageNameRefused: (name: string, reason: string) =>
    new Refusal(400, `'${shortened(name)}' cannot be the name of an image: ${reason}`),
  imageInUse: (name: string, node: string, project: string) =>
    new Refusal(409, `The image ${name} is used by node ${node} of project ${project}: it was not deleted`),
  imagesNotServed: (emulator: string) =>
    new Refusal(409, `Cannot list images: ${shortened(emulator)} is not available on this server`),
  forwardUnknown: (request: string) => new Refusal(404, `${request} not found`),
} as const;

function inMebibytes(octets: number): string {
  return `${Math.round((octets / 2 ** 20) * 100) / 100} MiB`;
}
