/** The refusals of projects and of what they hold. */
import { Refusal } from './refusal.js';

export const labRefusals = {
  // Projects
  versionDiffers: (client: string, server: string) =>
    new Refusal(409, `Client version ${client} is not the same as server version ${server}`),
  projectUnknown: (id: string) => new Refusal(404, `Project ID ${id} doesn't exist`),
  projectExists: (name: string) => new Refusal(409, `Project "${name}" already exists`),
  projectClosed: () => new Refusal(403, 'The project is not opened'),
  projectPathExists: (path: string) => new Refusal(403, `The path ${path} already exist.`),
  projectPathShared: (path: string, owner: string, ownersPath: string) =>
    new Refusal(
      409,
      `The path ${path} is not free for this project: the project "${owner}" lies at ${ownersPath}`,
    ),
  projectPathRefused: () => new Refusal(403, 'The path is not allowed'),
  projectOutside: (name: string, folder: string) =>
    new Refusal(
      409,
      `Project '${name}' cannot be deleted because it is not in the default project directory: '${folder}'`,
    ),
  topologyUnreadable: (path: string, reason: string) =>
    new Refusal(409, `Could not load topology ${path}: ${reason}`),
  topologyInvalid: (reason: string) => new Refusal(409, `Invalid data in topology file: ${reason}`),
  topologyFull: (most: number) =>
    new Refusal(409, `A project can hold ${most} nodes, links and drawings together: this would be more`),
  topologyTooLong: (most: number) =>
    new Refusal(
      409,
      `The nodes, links and drawings of a project can have ${most} characters together, pictures included: ` +
        'this would be more',
    ),
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
  bpfTooSlow: (expression: string) =>
    new Refusal(400, `Invalid BPF expression '${expression}': it takes too long to compile, make it simpler`),
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
  tooManySymbols: (most: number) =>
    new Refusal(
      409,
      `There are ${most} custom symbols, which is all that is allowed: delete some of their files`,
    ),
  symbolUnreadable: () => new Refusal(404, 'The size of this symbol cannot be read'),
  computeUnknown: (id: string) => new Refusal(404, `Compute ID ${id} doesn't exist`),
  virtualMachineUnknown: () =>
    new Refusal(404, 'Cannot use a node on the GNS3 VM server with the GNS3 VM not configured'),
  computeExists: (name: string) => new Refusal(409, `Compute name "${name}" already exists`),
  computeIsLocal: () => new Refusal(409, 'The local compute cannot be changed or deleted'),
  computeNotConnected: (name: string, request: string) =>
    new Refusal(409, `Cannot connect to compute '${name}' with request ${request}`),
} as const;
