/** The refusals of HTTP requests, of uploads and downloads, and of images. */
import { Refusal, shortened, type Fault } from './refusal.js';

export const requestRefusals = {
  // Requests
  schemaViolated: (where: string, reason: string, faults: readonly Fault[] = []) =>
    new Refusal(400, 'schema_violated', `JSON schema error ${where}: ${reason}`, {
      details: faults.length === 0 ? {} : { faults },
    }),
  pathMalformed: () => new Refusal(400, 'path_malformed', 'The path is not valid percent-encoded UTF-8'),
  pathUnknown: (path: string) => new Refusal(404, 'path_unknown', `No such path: ${path}`),
  methodUnknown: (method: string, path: string) =>
    new Refusal(405, 'method_not_allowed', `Method ${method} is not allowed on ${path}`),
  requestTooSlow: (seconds: number) =>
    new Refusal(408, 'request_too_slow', `The request body was not complete within ${seconds} s`),
  bodyTooLarge: (limit: number) =>
    new Refusal(413, 'body_too_large', `Maximum request body size ${limit} exceeded.`),
  originRefused: (origin: string) =>
    new Refusal(403, 'origin_refused', `Requests from the origin ${shortened(origin)} are not allowed`),
  hostRefused: (host: string) =>
    new Refusal(
      403,
      'host_refused',
      `This server does not know that it is called ${shortened(host)}: start it with --allow-hosts if it is`,
    ),
  webSocketOnly: () =>
    new Refusal(400, 'web_socket_only', 'This path speaks WebSocket: no valid upgrade request was found'),
  webSocketUnknown: () => new Refusal(400, 'web_socket_unknown', 'This path does not speak WebSocket'),
  stopLocalOnly: () => new Refusal(403, 'stop_local_only', 'You can only stop a local server'),
  webUiMissing: () =>
    new Refusal(
      404,
      'web_ui_missing',
      'This server has no web UI: start it with --web-ui and the folder of a built one',
    ),
  debugLocalOnly: () => new Refusal(403, 'debug_local_only', 'You can only debug a local server'),
  loadLocalOnly: () => new Refusal(403, 'load_local_only', 'You can only load a file of a local server'),
  tooBusy: () => new Refusal(503, 'server_busy', 'Too many requests are waiting, try again'),
  tooManyRequests: (seconds: number) =>
    new Refusal(429, 'too_many_requests', 'These credentials send too many requests: try again later', {
      retryAfterSeconds: seconds,
    }),
  tooManyConnections: () =>
    new Refusal(
      503,
      'too_many_connections',
      'This server has no room for another connection, try again later',
    ),
  tooManyConnectionsOfOne: () =>
    new Refusal(
      503,
      'too_many_connections_of_one',
      'Your address has half of all connections that this server can have: close some',
    ),
  clientGone: () => new Refusal(503, 'client_gone', 'The client has gone: nothing was done for it'),
  /** The reasons are for clients that are let in. */
  notReady: (failing: readonly string[] = []) =>
    new Refusal(
      503,
      'not_ready',
      'The server takes no new work',
      failing.length > 0 ? { details: { failing } } : {},
    ),
  draining: (seconds: number) =>
    new Refusal(503, 'server_draining', 'The server takes no new work, because an operator drains it', {
      retryAfterSeconds: seconds,
    }),
  settingsRefused: (problem: string) =>
    new Refusal(409, 'settings_refused', `Nothing has changed: ${problem}`),
  stopping: () => new Refusal(503, 'server_stopping', 'The server is stopping'),

  // Disk
  diskFull: (cause?: unknown) =>
    new Refusal(507, 'disk_full', 'No space left on the disk of the data folder: nothing was changed', {
      cause,
    }),
  auditFailing: () =>
    new Refusal(
      507,
      'audit_failing',
      'The audit cannot be written, and this server makes no change without it: /readyz has the reason',
    ),
  diskFloor: (bytes: number, free: number, floor: number) =>
    new Refusal(
      507,
      'disk_floor',
      `No space left for ${inMebibytes(bytes)} more: the disk has ${inMebibytes(free)} free, of which uploads, imports ` +
        `and snapshots leave ${inMebibytes(floor)} for the labs (--upload-floor). Make room on it`,
    ),
  diskFailing: (code: string, cause?: unknown) =>
    new Refusal(
      503,
      'disk_failing',
      `The disk of the data folder could not be written (${code}): nothing was changed`,
      {
        cause,
      },
    ),
  fileMissing: () => new Refusal(404, 'file_missing', '404: Not Found'),
  fileForbidden: () => new Refusal(403, 'file_forbidden', '403: Forbidden'),
  fileNameTooLong: () => new Refusal(400, 'file_name_too_long', 'The file name is too long'),
  fileTooLarge: (name: string, limit: number) =>
    new Refusal(409, 'file_too_large', `The file ${name} is larger than ${limit} bytes`),
  rangeBeyondEnd: (size: number) =>
    new Refusal(416, 'range_beyond_end', `The range begins beyond the ${size} bytes of the file`),
  isDirectory: (path: string) => new Refusal(409, 'is_directory', `Is a directory: '${path}'`),
  notDirectory: (path: string) =>
    new Refusal(409, 'not_directory', `A part of the path is not a directory: '${path}'`),

  // Uploads
  uploadLost: (reason: string) =>
    new Refusal(
      500,
      'upload_lost',
      `The upload was lost, because the thread that wrote it ended (${reason}): send it again`,
    ),
  uploadGaveWay: () =>
    new Refusal(
      503,
      'upload_displaced',
      'This upload has made room for others, because it had received nothing for the longest time: send it again',
    ),
  uploadDiffers: (digest: string) =>
    new Refusal(
      400,
      'upload_digest_differs',
      `The received bytes are not those that were sent: their ${digest} differs. Nothing was changed, send it again`,
    ),
  uploadOvertaken: () =>
    new Refusal(
      409,
      'upload_overtaken',
      'The file to be replaced was changed meanwhile. Nothing was changed, send it again',
    ),
  uploadDigestUnreadable: (header: string) =>
    new Refusal(400, 'upload_digest_unreadable', `The header ${header} is no digest that could be checked`),

  // Resumable uploads
  uploadUnknown: (id: string) =>
    new Refusal(404, 'upload_unknown', `Upload ID ${id.slice(0, 200)} doesn't exist`),
  uploadHeader: (header: string, reason: string) =>
    new Refusal(400, 'upload_header_invalid', `Invalid ${header}: ${reason}`),
  uploadExtension: (header: string) =>
    new Refusal(
      400,
      'upload_extension_unsupported',
      `${header}: this server does not offer that extension of the tus protocol`,
    ),
  uploadVersion: (version: string) =>
    new Refusal(
      412,
      'upload_version_unsupported',
      `Requests on uploads need the header Tus-Resumable: ${version}`,
    ),
  uploadMediaType: (media: string) =>
    new Refusal(415, 'upload_media_type_wrong', `The bytes of an upload are sent as ${media}`),
  uploadOffset: (offset: number, received: number) =>
    new Refusal(
      409,
      'upload_offset_wrong',
      `Upload-Offset is ${offset}, but ${received} bytes are here: go on from there`,
    ),
  uploadTakenOver: () =>
    new Refusal(409, 'upload_taken_over', 'Another request has taken over this upload: ask for its offset'),
  uploadTooLong: (size: number) =>
    new Refusal(413, 'upload_too_long', `More is sent than the ${size} bytes of this upload`),
  uploadChecksum: () =>
    new Refusal(
      460,
      'upload_checksum_mismatch',
      'The bytes do not match their Upload-Checksum: they were dropped',
    ),
  uploadDigest: (digest: string) =>
    new Refusal(
      460,
      'upload_digest_mismatch',
      `The upload does not have the ${digest} digest that was promised: it was dropped`,
    ),
  tooManyUploads: (limit: number) =>
    new Refusal(
      503,
      'too_many_uploads',
      `There are ${limit} unfinished uploads, which is all that is allowed: delete some`,
    ),

  // Images
  imageMissing: (name: string) =>
    new Refusal(409, 'image_missing', `The image ${shortened(name)} is missing`, {
      details: { exception: 'ImageMissingError', image: shortened(name) },
    }),
  imageOutside: (doing: string, name: string) =>
    new Refusal(
      403,
      'image_outside',
      `Could not ${doing} image: ${shortened(name)}, it would leave the images folder`,
    ),
  imageNotAllowed: (path: string, folder: string) =>
    new Refusal(
      409,
      'image_not_allowed',
      `${shortened(path)} is not allowed on this remote server. Please only use a file from '${folder}'`,
    ),
  imageNameRefused: (name: string, reason: string) =>
    new Refusal(400, 'image_name_refused', `'${shortened(name)}' cannot be the name of an image: ${reason}`),
  imageInUse: (name: string, node: string, project: string) =>
    new Refusal(
      409,
      'image_in_use',
      `The image ${name} is used by node ${node} of project ${project}: it was not deleted`,
    ),
  imageNotRenamed: (name: string, uses: string) =>
    new Refusal(409, 'image_not_renamed', `The image ${name} was not renamed, because nodes use it: ${uses}`),
  imageExists: (name: string) =>
    new Refusal(409, 'image_exists', `There is an image ${shortened(name)} already`),
  imageDiffers: (name: string, servers: string) =>
    new Refusal(
      409,
      'image_differs',
      `Other servers have another image with the name ${shortened(name)} (${servers}), and nothing was replaced: ` +
        'delete that one first, or use another name',
    ),
  imageOutOfReach: (name: string) =>
    new Refusal(
      503,
      'image_out_of_reach',
      `No server that has the image ${shortened(name)} can give it at the moment: try again when one of them is back`,
      { retryAfterSeconds: 5 },
    ),
  imageLendingBusy: () =>
    new Refusal(503, 'image_lending_busy', 'This server gives images to four others now: ask another one', {
      retryAfterSeconds: 1,
    }),
  imageFetchingBusy: () =>
    new Refusal(503, 'image_fetching_busy', 'This server waits for too many images of others: try again', {
      retryAfterSeconds: 5,
    }),
  imageCopiesMissing: (name: string, copies: number, wanted: number) =>
    new Refusal(
      503,
      'image_copies_missing',
      `The image ${shortened(name)} is on ${copies} of ${wanted} servers: it stays here, ` +
        'and the upload counts when it is sent again and the others have it',
      { retryAfterSeconds: 5 },
    ),
  imageGone: (name: string) =>
    new Refusal(409, 'image_gone', `The image ${shortened(name)} was deleted or replaced meanwhile`),
  imageUsedElsewhere: (name: string, nodes: number, server: string) =>
    new Refusal(
      409,
      'image_used_elsewhere',
      `The image ${shortened(name)} is used by ${nodes} nodes of labs on server ${server}: it stays as it is`,
    ),
  imageUseUnknown: (name: string, server: string) =>
    new Refusal(
      503,
      'image_use_unknown',
      `Server ${server} does not tell whether its nodes use the image ${shortened(name)}: it stays as it is, try again`,
      { retryAfterSeconds: 5 },
    ),
  forwardUnknown: (request: string) =>
    new Refusal(404, 'compute_request_unknown', `${shortened(request)} not found`),
} as const;

function inMebibytes(bytes: number): string {
  return `${Math.round((bytes / 2 ** 20) * 100) / 100} MiB`;
}
