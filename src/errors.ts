/**
 * The one error table. Whatever a client may be told stands here with its status; the HTTP edge turns it
 * into the contract's body. Anything else that is thrown is a fault of ours: it is logged and answered as a
 * 500 without details.
 */

interface RefusalOptions extends ErrorOptions {
  /** What the body of the answer has besides; this does not cross from a worker thread. */
  readonly details?: Readonly<Record<string, string>>;
}

/** A request that is refused for a reason the client can read. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly details: Readonly<Record<string, string>>;

  constructor(
    readonly status: number,
    message: string,
    { details = {}, ...options }: RefusalOptions = {},
  ) {
    super(message, options);
    this.details = details;
  }
}

const LONGEST_ECHO = 255;

const shortened = (text: string): string => text.slice(0, LONGEST_ECHO);

export const refusals = {
  // Requests
  badRequest: (message: string) => new Refusal(400, message),
  unauthorized: () => new Refusal(401, 'This server needs a user name and a password'),
  pathUnknown: (path: string) => new Refusal(404, `No such path: ${path}`),
  methodUnknown: (method: string, path: string) =>
    new Refusal(405, `Method ${method} is not allowed on ${path}`),
  requestTooSlow: (seconds: number) =>
    new Refusal(408, `The request body was not complete within ${seconds} s`),
  bodyTooLarge: (limit: number) => new Refusal(413, `Maximum request body size ${limit} exceeded.`),
  originRefused: (origin: string) => new Refusal(403, `Requests from the origin ${origin} are not allowed`),
  hostRefused: (host: string) =>
    new Refusal(
      403,
      `The host name ${host} is not a loopback name, and this server listens on loopback only`,
    ),
  webSocketOnly: () => new Refusal(400, 'This path speaks WebSocket: no valid upgrade request was found'),
  stopLocalOnly: () => new Refusal(403, 'You can only stop a local server'),
  loadLocalOnly: () => new Refusal(403, 'You can only load a file of a local server'),
  tooBusy: () => new Refusal(503, 'Too many requests are waiting, try again'),
  stopping: () => new Refusal(503, 'The server is stopping'),

  // Disk
  diskFull: (cause?: unknown) =>
    new Refusal(507, 'No space left on the disk of the data folder: nothing was changed', { cause }),
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
  uploadNoRoom: (size: number, free: number) =>
    new Refusal(507, `An upload of ${size} bytes does not fit: ${free} bytes are free on the disk`),

  // Projects
  versionDiffers: (client: string, server: string) =>
    new Refusal(409, `Client version ${client} is not the same as server version ${server}`),
  projectUnknown: (id: string) => new Refusal(404, `Project ID ${id} doesn't exist`),
  projectExists: (name: string) => new Refusal(409, `Project "${name}" already exists`),
  projectClosed: () => new Refusal(403, 'The project is not opened'),
  projectPathExists: (path: string) => new Refusal(403, `The path ${path} already exist.`),
  projectPathRefused: () => new Refusal(403, 'The path is not allowed'),
  projectOutside: (name: string, folder: string) =>
    new Refusal(
      409,
      `Project '${name}' cannot be deleted because it is not in the default project directory: '${folder}'`,
    ),
  topologyFileOpen: (filename: string) =>
    new Refusal(409, `${filename} is written by the server while the project is open: close it first`),
  topologyUnreadable: (path: string, reason: string) =>
    new Refusal(409, `Could not load topology ${path}: ${reason}`),
  topologyInvalid: (reason: string) => new Refusal(409, `Invalid data in topology file: ${reason}`),
  topologyNewer: (revision: number, version: string) =>
    new Refusal(
      409,
      `This project was created with more recent version of GNS3 (file revision: ${revision}). ` +
        `Please upgrade GNS3 to version ${version} or later`,
    ),
  topologyOlder: (revision: number) =>
    new Refusal(
      409,
      `This project has the older file revision ${revision}: open it once with GNS3 2.2, which converts it ` +
        'to revision 9. The file was left untouched',
    ),

  // Snapshots, exports and imports
  jobCancelled: () => new Refusal(409, 'Cancelled on request: nothing was changed'),
  jobUnknown: (id: string) => new Refusal(404, `Job ID ${id} doesn't exist`),
  projectRunning: () => new Refusal(409, 'Project must be stopped in order to export it'),
  snapshotUnknown: (id: string) => new Refusal(404, `Snapshot ID ${id} doesn't exist`),
  snapshotExists: (name: string) => new Refusal(409, `The snapshot name ${name} already exists`),
  snapshotFileExists: (name: string) => new Refusal(409, `The snapshot file '${name}' already exists`),
  snapshotIndexUnreadable: () => new Refusal(409, 'Could not read snapshot configuration file'),
  snapshotDamaged: (what: string) =>
    new Refusal(409, `The snapshot is damaged (${what}): nothing was changed`),
  importNoArchive: () => new Refusal(409, 'Cannot import project, not a GNS3 project (invalid zip)'),
  importArchiveRefused: (reason: string) =>
    new Refusal(
      409,
      `Cannot import project, because of the archive as a whole: ${reason}. Nothing was changed`,
    ),
  importNoTopology: () => new Refusal(409, 'Cannot import project, project.gns3 file could not be found'),
  importBadTopology: () => new Refusal(409, 'Cannot import project, the project.gns3 file is corrupted'),
  importRefused: (member: string, reason: string) =>
    new Refusal(
      409,
      `Cannot import project, because of '${member.slice(0, 4096)}' in the archive: ${reason}. Nothing was changed`,
    ),
  libraryMissing: (method: string, library: string, debianPackage: string) =>
    new Refusal(
      409,
      `${method} needs the library ${library}, which is not on this host: install it ` +
        `(on Debian and Ubuntu, the package ${debianPackage})`,
    ),

  // Exports, imports and duplicates of projects
  exportCompression: (given: string) =>
    new Refusal(
      400,
      `The compression ${shortened(given)} is not known: choose none, zip, bzip2 or lzma`,
    ),
  exportOfClone: () =>
    new Refusal(
      409,
      'Projects with a linked virtualbox clone node cannot not be exported. Please use Qemu instead.',
    ),
  exportOfMachine: (type: string) => new Refusal(409, `Projects with a ${type} node cannot be exported`),
  projectFolderGone: (path: string) => new Refusal(404, `Project could not be found at '${path}'`),
  projectNotDuplicated: (reason: string) => new Refusal(409, `Cannot duplicate project: ${reason}`),
  importPathOfFile: () => new Refusal(409, 'The destination path should not contain .gns3'),
  importOverProject: (id: string) =>
    new Refusal(
      409,
      `Cannot import project, because project ${id} is here already. Import it to another id, or delete ` +
        'that project first. Nothing was changed',
    ),

  // What snapshots and exports hold of the files of a project
  contentUnreadable: (path: string, reason: string) => new Refusal(409, `Cannot read ${path}: ${reason}`),
  contentChanging: (path: string) =>
    new Refusal(409, `${path} was changed while it was read: stop what writes to it, then try again`),

  // Nodes
  nodeUnknown: (id: string) => new Refusal(404, `Node ID ${id} doesn't exist`),
  nodeKindNotServed: (type: string, doing: string) =>
    new Refusal(409, `Cannot ${doing}: nodes of type ${type} are not served by this server`),
  nodeComputeNotServed: (name: string, type: string, doing: string) =>
    new Refusal(409, `Cannot ${doing}: node ${name} of type ${type} is on a compute that is not connected`),
  nodeLocked: (name: string) => new Refusal(409, `Node ${name} cannot be deleted because it is locked`),
  nodeNamePlaceholder: (placeholder: string) =>
    new Refusal(409, `${placeholder} is not a valid replacement string in the node name`),
  nodeNameBlank: () => new Refusal(400, 'A node name must not be blank'),
  nodeNameRefused: () => new Refusal(400, 'A node name must not contain the character "'),
  switchConnected: () => new Refusal(409, "Can't modify a switch already connected."),
  hubConnected: () => new Refusal(409, "Can't modify a hub already connected."),
  mappingConflict: (reason: string) => new Refusal(409, reason),

  // Files of nodes
  nodeFileMissing: (method: string, projectId: string, path: string) =>
    new Refusal(404, `${method} /projects/${projectId}/files/${path} not found`),
  nodeFileIsFolder: (path: string, listing: string) =>
    new Refusal(409, `Is a directory: '${path}': what is in it is listed at ${listing}`),
  folderNotEmpty: (path: string) =>
    new Refusal(409, `The folder ${path} is not empty: recursive=true deletes it with all that is in it`),
  archiveCompressed: () =>
    new Refusal(400, 'The archive is compressed: send it as a plain tar archive, uncompressed'),
  archiveDamaged: (reason: string) => new Refusal(400, `The tar archive is damaged: ${reason}`),
  archiveMemberRefused: (name: string, reason: string) =>
    new Refusal(
      409,
      `The archive was not unpacked, because of its member '${name.slice(0, 4096)}': ${reason}`,
    ),

  // Links
  linkUnknown: (id: string) => new Refusal(404, `Link ID ${id} doesn't exist`),
  portUnknown: (adapter: number, port: number, node: string) =>
    new Refusal(404, `Port ${adapter}/${port} for ${node} not found`),
  portUsed: () => new Refusal(409, 'Port is already used'),
  linkToItself: () => new Refusal(409, 'Cannot connect to itself'),
  linkBetween: (first: string, second: string, what = '') =>
    new Refusal(409, `Connecting a ${first}${what} to a ${second}${what} is not allowed`),
  bpfRefused: (expression: string, reason: string) =>
    new Refusal(400, `Invalid BPF expression '${expression}': ${reason}`),
  bpfUnavailable: () =>
    new Refusal(
      409,
      'BPF expressions need the library libpcap, which is not on this host: install it ' +
        '(on Debian and Ubuntu, the package libpcap0.8)',
    ),

  // Captures
  captureNameRefused: (name: string) =>
    new Refusal(
      400,
      `'${name.slice(0, 200)}' cannot be the name of a capture file: it must be one name of at most 200 bytes, ` +
        'without slashes, that does not begin with a dot',
    ),
  captureRingRefused: (files: number, least: number) =>
    new Refusal(400, `A ring of ${files} files needs max_bytes of at least ${files * least}`),
  captureFilterRefused: () => new Refusal(400, 'An expression (bpf) cannot be combined with cells'),
  captureRunning: (port: number) => new Refusal(409, `Port ${port} has already a filter applied`),
  captureFileBusy: (name: string) =>
    new Refusal(409, `Another capture of this project is writing ${name}: choose another capture_file_name`),
  captureNowhere: () => new Refusal(409, 'Cannot capture because there is no running device on this link'),
  captureInactive: () => new Refusal(409, 'This link has no active packet capture'),
  captureNothingToStream: () =>
    new Refusal(409, 'Nothing to stream because there is no packet capture active'),
  captureUnknown: (linkId: string) => new Refusal(404, `Link ID ${linkId} has not been captured`),
  captureFileMissing: (name: string) =>
    new Refusal(404, `There is no capture file ${name.slice(0, 200)} in this project`),
  captureFileChanged: (name: string) =>
    new Refusal(409, `${name} has changed since it was looked at: it was not removed, try again`),
  captureFileRunning: (name: string, linkId: string) =>
    new Refusal(409, `${name} is being written by the capture of link ${linkId}: stop that first`),
  captureLimitMissing: () =>
    new Refusal(400, 'Say which captures are to go: older_than (seconds), keep_bytes, or both'),
  captureQuota: (quota: number) =>
    new Refusal(
      507,
      `The captures of this project take ${quota} bytes, which is all they may (--capture-quota): ` +
        'delete some at /v2/projects/{project_id}/captures',
    ),
  captureFloor: (floor: number) =>
    new Refusal(
      507,
      `Less than ${Math.ceil(floor / 2 ** 20)} MiB are free on the disk of this project, which captures leave ` +
        'free: make room on it, then start the capture again',
    ),
  captureDiskFull: () =>
    new Refusal(
      507,
      'The disk of this project is full: the capture file ends with the last packet that fit. Make room on it, ' +
        'then start the capture again',
    ),
  captureUnwritten: (reason: string) =>
    new Refusal(
      500,
      `The capture file could not be written any further (${reason}): look at the disk of this project, then ` +
        'start the capture again',
    ),
  tooManyLogs: () => new Refusal(409, 'The packet engine has no room for another capture: stop one first'),

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

  // Drawings, templates, symbols, computes
  drawingUnknown: (id: string) => new Refusal(404, `Drawing ID ${id} doesn't exist`),
  drawingLocked: (id: string) => new Refusal(409, `Drawing ID ${id} cannot be deleted because it is locked`),
  templateUnknown: (id: string) => new Refusal(404, `Template ID ${id} doesn't exist`),
  templateForNodeUnknown: (id: string) => new Refusal(404, `Template ${id} doesn't exist`),
  templateExists: (id: string) => new Refusal(409, `Template ID '${id}' already exists`),
  templateBuiltin: (id: string, doing: string) =>
    new Refusal(409, `Template ID ${id} cannot be ${doing} because it is a builtin`),
  templateKindNotServed: (type: string) =>
    new Refusal(409, `Templates of type ${type} are not served by this server`),
  symbolNameRefused: () =>
    new Refusal(400, 'The name of a symbol must end in .svg, .png, .gif, .jpg or .jpeg'),
  symbolUnreadable: () => new Refusal(404, 'The size of this symbol cannot be read'),
  computeUnknown: (id: string) => new Refusal(404, `Compute ID ${id} doesn't exist`),
  virtualMachineUnknown: () =>
    new Refusal(404, 'Cannot use a node on the GNS3 VM server with the GNS3 VM not configured'),
  computeExists: (name: string) => new Refusal(409, `Compute name "${name}" already exists`),
  computeIsLocal: () => new Refusal(409, 'The local compute cannot be changed or deleted'),
  computeNotConnected: (name: string, request: string) =>
    new Refusal(409, `Cannot connect to compute '${name}' with request ${request}`),

  // The compute side
  idNoUuid: (what: string, id: string) => new Refusal(400, `${what} ID ${id} is not a valid UUID`),
  nodeOfOtherProject: (project: string, node: string) =>
    new Refusal(404, `Project ID ${project} doesn't belong to node ${node}`),
  nodeIdTaken: (id: string) => new Refusal(409, `Node ID ${id} is already used by another node`),
  tooMany: (what: string, limit: number) => new Refusal(409, `There are too many ${what}: at most ${limit}`),
  engineFull: (reason: string) => new Refusal(409, `The packet engine has no room left: ${reason}`),
  portOccupied: (port: number) => new Refusal(409, `Port ${port} isn't free`),
  portUnattached: (port: number) => new Refusal(409, `Port ${port} is not allocated`),
  portMissing: (port: number) => new Refusal(409, `Port ${port} doesn't exist`),
  nioNotSupported: (type: string) => new Refusal(409, `NIO of type ${type} is not supported`),
  udpNotConnected: (host: string, port: number, reason: string) =>
    new Refusal(409, `Could not create an UDP connection to ${host}:${port}: ${reason}`),
  interfaceDown: (kind: string, name: string) => new Refusal(409, `${kind} interface ${name} is down`),
  nioNotOpened: (what: string, reason: string) => new Refusal(409, `Could not attach to ${what}: ${reason}`),
  udpPortsTaken: (first: number, last: number, reason: string) =>
    new Refusal(
      409,
      `Could not find a free port between ${first} and ${last} on host 0.0.0.0, last exception: ${reason}`,
    ),
} as const;
