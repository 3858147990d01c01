/** The refusals of projects, nodes, links, captures, drawings, templates, symbols and computes. */
import { Refusal, shortened, type Fault } from './refusal.js';

export const labRefusals = {
  // Projects
  versionDiffers: (client: string, server: string) =>
    new Refusal(
      409,
      'version_differs',
      `Client version ${client} is not the same as server version ${server}`,
    ),
  projectUnknown: (id: string) => new Refusal(404, 'project_unknown', `Project ID ${id} doesn't exist`),
  projectExists: (name: string) => new Refusal(409, 'project_exists', `Project "${name}" already exists`),
  projectNameRefused: () =>
    new Refusal(400, 'project_name_refused', 'A project name must not contain slashes or control characters'),
  projectClosed: () => new Refusal(403, 'project_closed', 'The project is not opened'),
  projectPathExists: (path: string) =>
    new Refusal(403, 'project_path_exists', `The path ${path} already exist.`),
  projectPathShared: (path: string, owner: string, ownersPath: string) =>
    new Refusal(
      409,
      'project_path_shared',
      `The path ${path} is not free for this project: the project "${owner}" lies at ${ownersPath}`,
    ),
  projectPathRefused: () => new Refusal(403, 'project_path_refused', 'The path is not allowed'),
  projectOutside: (name: string, folder: string) =>
    new Refusal(
      409,
      'project_outside_folder',
      `Project '${name}' cannot be deleted because it is not in the default project directory: '${folder}'`,
    ),
  topologyUnreadable: (path: string, reason: string) =>
    new Refusal(409, 'topology_unreadable', `Could not load topology ${path}: ${reason}`),
  topologyInvalid: (reason: string) =>
    new Refusal(409, 'topology_invalid', `Invalid data in topology file: ${reason}`),
  topologyFull: (most: number) =>
    new Refusal(
      409,
      'topology_full',
      `A project can hold ${most} nodes, links and drawings together: this would be more`,
    ),
  topologyTooLong: (most: number) =>
    new Refusal(
      409,
      'topology_too_long',
      `The nodes, links and drawings of a project can have ${most} characters together, pictures included: ` +
        'this would be more',
    ),
  topologyNewer: (revision: number, version: string) =>
    new Refusal(
      409,
      'topology_newer',
      `This project was created with more recent version of GNS3 (file revision: ${revision}). ` +
        `Please upgrade GNS3 to version ${version} or later`,
    ),
  topologyNotConverted: (path: string, reason: string) =>
    new Refusal(
      409,
      'topology_not_converted',
      `The topology ${path} is of an earlier revision and could not be converted: ${reason}. It was left untouched`,
    ),

  // Nodes
  nodeUnknown: (id: string) => new Refusal(404, 'node_unknown', `Node ID ${id} doesn't exist`),
  nodeKindUnavailable: (sentence: string) => new Refusal(409, 'node_kind_unavailable', sentence),
  virtualMachineUnavailable: () =>
    new Refusal(
      409,
      'virtual_machine_unavailable',
      'The GNS3 VM is not available: this server runs nodes on its own host. Leave it disabled',
    ),
  symbolThemeUnknown: (theme: string) =>
    new Refusal(404, 'symbol_theme_unknown', `Could not find symbol theme '${shortened(theme)}'`),
  machineEngineUnknown: (engine: string) =>
    new Refusal(404, 'virtual_machine_engine_unknown', `GNS3 VM engine ${shortened(engine)} doesn't exist`),
  nodeComputeNotServed: (name: string, type: string, doing: string) =>
    new Refusal(
      409,
      'node_compute_not_served',
      `Cannot ${doing}: node ${name} of type ${type} is on a compute that is not connected`,
    ),
  nodesNotActedOn: (action: string, failed: number, all: number, faults: string) =>
    new Refusal(409, 'nodes_not_acted_on', `Cannot ${action} ${failed} of ${all} nodes: ${faults}`),
  nodeLocked: (name: string) =>
    new Refusal(409, 'node_locked', `Node ${name} cannot be deleted because it is locked`),
  nodeNamePlaceholder: (placeholder: string) =>
    new Refusal(
      409,
      'node_name_placeholder',
      `${placeholder} is not a valid replacement string in the node name`,
    ),
  nodeNameBlank: () => new Refusal(400, 'node_name_blank', 'A node name must not be blank'),
  nodeCopiedWhileRunning: () =>
    new Refusal(409, 'node_runs_not_copied', 'Cannot duplicate node data while the node is running'),
  nodeNameRefused: () =>
    new Refusal(400, 'node_name_refused', 'A node name must not contain the character "'),
  nodeNotMovable: (name: string, type: string) =>
    new Refusal(
      409,
      'node_not_movable',
      `Node ${name} of type ${type} stays on its compute: switches and hubs are moved, nodes with files are not`,
    ),
  nodeThereAlready: (name: string, compute: string) =>
    new Refusal(409, 'node_there_already', `Node ${name} is on compute ${compute} already`),
  nodeMoving: (name: string) =>
    new Refusal(409, 'node_moving', `Node ${name} is being moved: wait until that is done`),
  nodeNotMoved: (name: string, reason: string) =>
    new Refusal(409, 'node_not_moved', `Node ${name} is where it was: ${reason}`),
  nodeMovedWhileCaptured: (name: string) =>
    new Refusal(
      409,
      'node_moved_while_captured',
      `Node ${name} has links with captures that run: stop them before it is moved`,
    ),
  nodeNotDuplicable: () => new Refusal(409, 'node_not_duplicable', 'This node type cannot be duplicated'),
  switchConnected: () => new Refusal(409, 'switch_connected', "Can't modify a switch already connected."),
  hubConnected: () => new Refusal(409, 'hub_connected', "Can't modify a hub already connected."),
  portNameFormatRefused: (format: string, reason: string) =>
    new Refusal(
      409,
      'port_name_format_refused',
      `Invalid port name format ${format.slice(0, 255)}: ${reason}`,
    ),
  cloudConnected: () => new Refusal(409, 'cloud_connected', "Can't modify a cloud already connected."),
  natPortsFixed: () => new Refusal(409, 'nat_ports_fixed', 'The ports of a NAT node cannot be changed'),
  propertyConflict: (reason: string) => new Refusal(409, 'property_conflict', reason),
  mappingConflict: (reason: string) => new Refusal(409, 'mapping_conflict', reason),

  // Files of nodes
  nodeFileMissing: (method: string, projectId: string, path: string) =>
    new Refusal(404, 'node_file_missing', `${method} /projects/${projectId}/files/${path} not found`),
  nodeFileIsFolder: (path: string, listing: string) =>
    new Refusal(
      409,
      'node_file_is_folder',
      `Is a directory: '${path}': what is in it is listed at ${listing}`,
    ),
  folderNotEmpty: (path: string) =>
    new Refusal(
      409,
      'folder_not_empty',
      `The folder ${path} is not empty: recursive=true deletes it with all that is in it`,
    ),
  archiveCompressed: () =>
    new Refusal(
      400,
      'archive_compressed',
      'The archive is compressed: send it as a plain tar archive, uncompressed',
    ),
  archiveDamaged: (reason: string) =>
    new Refusal(400, 'archive_damaged', `The tar archive is damaged: ${reason}`),
  archiveMemberRefused: (name: string, reason: string) =>
    new Refusal(
      409,
      'archive_member_refused',
      `The archive was not unpacked, because of its member '${name.slice(0, 4096)}': ${reason}`,
    ),

  // Links
  linkUnknown: (id: string) => new Refusal(404, 'link_unknown', `Link ID ${id} doesn't exist`),
  portUnknown: (adapter: number, port: number, node: string) =>
    new Refusal(404, 'port_unknown', `Port ${adapter}/${port} for ${node} not found`),
  portUsed: () => new Refusal(409, 'port_used', 'Port is already used'),
  linkToItself: () => new Refusal(409, 'link_to_itself', 'Cannot connect to itself'),
  linkBetween: (first: string, second: string, what = '') =>
    new Refusal(
      409,
      'link_kinds_differ',
      `Connecting a ${first}${what} to a ${second}${what} is not allowed`,
    ),
  bpfRefused: (expression: string, reason: string) =>
    new Refusal(400, 'bpf_refused', `Invalid BPF expression '${expression}': ${reason}`),
  bpfTooSlow: (expression: string) =>
    new Refusal(
      400,
      'bpf_too_slow',
      `Invalid BPF expression '${expression}': it takes too long to compile, make it simpler`,
    ),
  bpfUnavailable: () =>
    new Refusal(
      409,
      'bpf_unavailable',
      'BPF expressions need the library libpcap, which is not on this host: install it ' +
        '(on Debian and Ubuntu, the package libpcap0.8)',
    ),

  // Captures
  captureNameRefused: (name: string) =>
    new Refusal(
      400,
      'capture_name_refused',
      `'${name.slice(0, 200)}' cannot be the name of a capture file: it must be one name of at most 200 bytes, ` +
        'without slashes, that does not begin with a dot',
    ),
  captureRingRefused: (files: number, least: number) =>
    new Refusal(
      400,
      'capture_ring_refused',
      `A ring of ${files} files needs max_bytes of at least ${files * least}`,
    ),
  captureFilterRefused: () =>
    new Refusal(400, 'capture_filter_refused', 'An expression (bpf) cannot be combined with cells'),
  captureRunning: (port: number) =>
    new Refusal(409, 'capture_running', `Port ${port} has already a filter applied`),
  captureFileBusy: (name: string) =>
    new Refusal(
      409,
      'capture_file_busy',
      `Another capture of this project is writing ${name}: choose another capture_file_name`,
    ),
  captureNowhere: () =>
    new Refusal(
      409,
      'capture_without_device',
      'Cannot capture because there is no running device on this link',
    ),
  captureComplete: (limit: string) => new Refusal(409, 'capture_complete', `${limit} was reached`),
  captureInactive: () => new Refusal(409, 'capture_inactive', 'This link has no active packet capture'),
  captureNothingToStream: () =>
    new Refusal(
      409,
      'capture_nothing_to_stream',
      'Nothing to stream because there is no packet capture active',
    ),
  captureUnknown: (linkId: string) =>
    new Refusal(404, 'capture_unknown', `Link ID ${linkId} has not been captured`),
  captureFileMissing: (name: string) =>
    new Refusal(
      404,
      'capture_file_missing',
      `There is no capture file ${name.slice(0, 200)} in this project`,
    ),
  captureFileChanged: (name: string) =>
    new Refusal(
      409,
      'capture_file_changed',
      `${name} has changed since it was checked: it was not removed, try again`,
    ),
  captureFileRunning: (name: string, linkId: string) =>
    new Refusal(
      409,
      'capture_file_running',
      `${name} is being written by the capture of link ${linkId}: stop that first`,
    ),
  captureLimitMissing: () =>
    new Refusal(
      400,
      'capture_limit_missing',
      'Give a limit for the captures to keep: older_than (seconds), keep_bytes, or both',
    ),
  captureQuota: (quota: number) =>
    new Refusal(
      507,
      'capture_quota',
      `The captures of this project take ${quota} bytes, which is all they may (--capture-quota): ` +
        'delete some at /v2/projects/{project_id}/captures',
    ),
  captureFloor: (floor: number) =>
    new Refusal(
      507,
      'capture_disk_floor',
      `Less than ${Math.ceil(floor / 2 ** 20)} MiB are free on the disk of this project, which captures leave ` +
        'free: make room on it, then start the capture again',
    ),
  captureDiskFull: () =>
    new Refusal(
      507,
      'capture_disk_full',
      'The disk of this project is full: the capture file ends with the last packet that fit. Make room on it, ' +
        'then start the capture again',
    ),
  captureUnwritten: (reason: string) =>
    new Refusal(
      500,
      'capture_unwritten',
      `The capture file could not be written any further (${reason}): look at the disk of this project, then ` +
        'start the capture again',
    ),
  tooManyLogs: () =>
    new Refusal(409, 'too_many_logs', 'The packet engine has no room for another capture: stop one first'),

  // Drawings, templates, symbols, computes
  drawingUnknown: (id: string) => new Refusal(404, 'drawing_unknown', `Drawing ID ${id} doesn't exist`),
  drawingLocked: (id: string) =>
    new Refusal(409, 'drawing_locked', `Drawing ID ${id} cannot be deleted because it is locked`),
  templateUnknown: (id: string) => new Refusal(404, 'template_unknown', `Template ID ${id} doesn't exist`),
  templateForNodeUnknown: (id: string) =>
    new Refusal(404, 'template_for_node_unknown', `Template ${id} doesn't exist`),
  templateExists: (id: string) => new Refusal(409, 'template_exists', `Template ID '${id}' already exists`),
  templateBuiltin: (id: string, doing: string) =>
    new Refusal(409, 'template_builtin', `Template ID ${id} cannot be ${doing} because it is a builtin`),
  templateNameUnknown: (name: string) =>
    new Refusal(404, 'template_name_unknown', `There is no template '${shortened(name)}' on this server`),
  templateNameShared: (name: string) =>
    new Refusal(
      409,
      'template_name_shared',
      `Several templates have the name '${shortened(name)}': say which by its id`,
    ),

  // Lab files
  labFileRefused: (faults: readonly Fault[]) => {
    const told = faults.map(({ path, reason }) => `${path.join('.')}: ${reason}`).join('; ');
    return new Refusal(400, 'lab_file_refused', `The lab file cannot be applied: ${told}`, {
      details: { faults },
    });
  },
  labFileNameDiffers: (name: string, project: string) =>
    new Refusal(
      409,
      'lab_file_name_differs',
      `This is the file of the lab '${shortened(name)}', and the project is '${project}'`,
    ),
  labFilePlanDiffers: () =>
    new Refusal(
      409,
      'lab_file_plan_differs',
      'The lab has moved on since this plan was made, or the file has: make a new plan',
    ),
  labFileRecreates: (names: string) =>
    new Refusal(
      409,
      'lab_file_recreates',
      `These nodes would be made anew, and lose what is in them: ${names}. Allow it with allow_recreate`,
    ),
  labFileUnfinished: (done: number, total: number, reason: string) =>
    new Refusal(
      409,
      'lab_file_unfinished',
      `${done} of ${total} steps are done, then: ${reason}. The next application of the file goes on from here`,
    ),
  symbolNameRefused: () =>
    new Refusal(
      400,
      'symbol_name_refused',
      'The name of a symbol must end in .svg, .png, .gif, .jpg or .jpeg',
    ),
  tooManySymbols: (most: number) =>
    new Refusal(
      409,
      'too_many_symbols',
      `There are ${most} custom symbols, which is all that is allowed: delete some of their files`,
    ),
  symbolUnreadable: () => new Refusal(404, 'symbol_unreadable', 'The size of this symbol cannot be read'),
  computeUnknown: (id: string) => new Refusal(404, 'compute_unknown', `Compute ID ${id} doesn't exist`),
  virtualMachineUnknown: () =>
    new Refusal(
      404,
      'virtual_machine_unknown',
      'Cannot use a node on the GNS3 VM server with the GNS3 VM not configured',
    ),
  computeExists: (name: string) =>
    new Refusal(409, 'compute_exists', `Compute name "${name}" already exists`),
  computeReserved: (id: string, name: string) =>
    new Refusal(
      400,
      'compute_reserved',
      `The compute ${id} (${name}) cannot be made: there is no GNS3 VM here`,
    ),
  computeIsLocal: () =>
    new Refusal(409, 'compute_is_local', 'The local compute cannot be changed or deleted'),
  computeNotConnected: (name: string, request: string) =>
    new Refusal(409, 'compute_not_connected', `Cannot connect to compute '${name}' with request ${request}`),
} as const;
