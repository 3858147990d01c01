/** The refusals of the compute interface. */
import { Refusal, shortened } from './refusal.js';

export const computeRefusals = {
  idNoUuid: (what: string, id: string) =>
    new Refusal(400, 'id_not_uuid', `${what} ID ${id} is not a valid UUID`),
  nodeOfOtherProject: (project: string, node: string) =>
    new Refusal(404, 'node_of_other_project', `Project ID ${project} doesn't belong to node ${node}`),
  nodeIdTaken: (id: string) =>
    new Refusal(409, 'node_id_taken', `Node ID ${id} is already used by another node`),
  tooMany: (what: string, limit: number) =>
    new Refusal(409, 'too_many', `There are too many ${what}: at most ${limit}`),
  engineFull: (reason: string) =>
    new Refusal(409, 'engine_full', `The packet engine has no room left: ${reason}`),
  portOccupied: (port: number) => new Refusal(409, 'port_occupied', `Port ${port} isn't free`),
  portUnattached: (port: number) => new Refusal(409, 'port_unattached', `Port ${port} is not allocated`),
  portMissing: (port: number) => new Refusal(409, 'port_missing', `Port ${port} doesn't exist`),
  nodeKindNotAble: (type: string, why: string, debianPackage: string | undefined) =>
    new Refusal(
      409,
      'node_kind_not_able',
      `This server cannot run nodes of type ${type}: ${why}` +
        (debianPackage === undefined ? '' : ` (Debian has it in the package ${debianPackage})`),
    ),
  programsUnconfined: () =>
    new Refusal(
      409,
      'programs_unconfined',
      'This server cannot confine the programs of nodes, and others than this host can reach it: ' +
        'start it with --allow-unconfined (WIREFARM_ALLOW_UNCONFINED) if its clients may have its rights',
    ),
  kindUnconfined: (type: string) =>
    new Refusal(
      409,
      'kind_unconfined',
      `Nodes of type ${type} have the rights of the server, and others than this host can reach it: ` +
        'start it with --allow-unconfined (WIREFARM_ALLOW_UNCONFINED) if its clients may have its rights',
    ),
  dockerNotAnswering: (reason: string) =>
    new Refusal(409, 'docker_not_answering', `Can't connect to Docker: ${reason}`),
  interfacesNotMoved: (reason: string) =>
    new Refusal(
      409,
      'interfaces_not_moved',
      `The interfaces could not be moved into the container: ${reason}`,
    ),
  nodeNotStarted: (name: string, reason: string) =>
    new Refusal(409, 'node_not_started', `${name} could not be started: ${reason}`),
  nodeNotHeld: (name: string, type: string) =>
    new Refusal(409, 'node_not_held', `${name} runs, and nodes of type ${type} cannot be held`),
  diskNotHeld: (name: string) =>
    new Refusal(409, 'disk_not_held', `${name} runs and writes into an image, which is in no snapshot`),
  labNotHeld: (faults: string) =>
    new Refusal(
      409,
      'lab_not_held',
      `The snapshot must wait until these nodes are stopped; nothing was held: ${faults}`,
    ),
  memoryNotSaved: (name: string, reason: string) =>
    new Refusal(409, 'memory_not_saved', `The memory of ${name} could not be saved: ${reason}`),
  memoryNotLoaded: (name: string, reason: string) =>
    new Refusal(409, 'memory_not_loaded', `The memory of ${name} was not loaded: ${reason}`),
  optionForbidden: (option: string) =>
    new Refusal(409, 'option_forbidden', `Forbidden additional option: ${shortened(option)}`),
  optionsUnreadable: () =>
    new Refusal(409, 'options_unreadable', 'The additional options have a quote that is not closed'),
  diskRefused: (name: string, reason: string) =>
    new Refusal(409, 'disk_refused', `The disk ${shortened(name)} was refused: ${reason}`),
  diskFailed: (name: string, reason: string) =>
    new Refusal(409, 'disk_failed', `The disk ${shortened(name)} could not be made ready: ${reason}`),
  diskExists: (path: string) =>
    new Refusal(409, 'disk_exists', `Could not create disk image '${shortened(path)}', file already exists`),
  diskUnknown: (path: string) =>
    new Refusal(409, 'disk_unknown', `Qemu disk '${shortened(path)}' does not exist`),
  diskInUse: (name: string, owner: string) =>
    new Refusal(
      409,
      'disk_in_use',
      `The image ${shortened(name)} is in use by ${owner}: without linked clones it is for one node at a time`,
    ),
  imgRefused: (program: string) =>
    new Refusal(
      409,
      'img_refused',
      `${shortened(program)} is not started: disks are made by the program qemu-img of this server`,
    ),
  nodeWithoutDisks: (name: string) =>
    new Refusal(409, 'node_without_disks', `${name} is no machine with disks`),
  packageMissing: (what: string, debianPackage: string) =>
    new Refusal(
      409,
      'package_missing',
      `This server cannot ${what}: Debian has what it needs in the package ${debianPackage}`,
    ),
  idlePcNotFound: (name: string) =>
    new Refusal(409, 'idle_pc_not_found', `No idle-PC value was found for ${name}`),
  idlePcSearched: (name: string) =>
    new Refusal(409, 'idle_pc_searched', `An idle-PC value of ${name} is being searched for`),
  nodeRunsAlready: (name: string, doing: string) =>
    new Refusal(409, 'node_runs', `Cannot ${doing} of ${name} while it runs: stop it first`),
  consoleNotOpened: (name: string, port: number, reason: string) =>
    new Refusal(
      409,
      'console_not_opened',
      `The console of ${name} cannot listen on TCP port ${port} (${reason}): change its console port`,
    ),
  consoleMissing: (name: string, type: string) =>
    new Refusal(409, 'console_missing', `Node ${name} console type is not ${type}`),
  consoleClosed: (name: string) => new Refusal(409, 'console_closed', `Node ${name} is not started`),
  consoleFull: (most: number) =>
    new Refusal(
      503,
      'console_full',
      `The console has ${most} clients, which is all that is allowed: close one`,
    ),
  wantedOlder: (epoch: number, known: number) =>
    new Refusal(
      409,
      'wanted_older',
      `Another controller has taken this project over: it is at epoch ${known}, and this request of epoch ${epoch}`,
    ),
  wantedGap: (since: number, reached: number) =>
    new Refusal(
      409,
      'wanted_gap',
      `This compute has reached number ${reached}, and the difference is one from ${since}: send all that is wanted`,
    ),
  wantedOfOwn: (id: string) =>
    new Refusal(409, 'wanted_of_own', `Project ${id} belongs to the controller of this server`),
  nioNotSupported: (type: string) =>
    new Refusal(409, 'nio_not_supported', `NIO of type ${type} is not supported`),
  nioFixed: () =>
    new Refusal(
      409,
      'nio_fixed',
      'The port is attached to another NIO: only filters and suspend can change while it is attached',
    ),
  udpNotConnected: (host: string, port: number, reason: string) =>
    new Refusal(409, 'udp_not_connected', `Could not create an UDP connection to ${host}:${port}: ${reason}`),
  hostsNotTaken: () =>
    new Refusal(
      403,
      'hosts_not_taken',
      'Links of this server lead where its --nio-networks say: anybody could name more hosts, because it has no users',
    ),
  datagramsCut: () =>
    new Refusal(409, 'datagrams_cut', 'This host cannot send datagrams that must not be cut: it takes Linux'),
  interfaceDown: (kind: string, name: string) =>
    new Refusal(409, 'interface_down', `${kind} interface ${name} is down`),
  interfaceNotAllowed: (name: string) =>
    new Refusal(
      409,
      'interface_not_allowed',
      `Could not attach to the interface ${name}: this server's --nio-interfaces do not have it`,
    ),
  nioNotOpened: (what: string, reason: string) =>
    new Refusal(409, 'nio_not_opened', `Could not attach to ${what}: ${reason}`),
  udpPortsTaken: (first: number, last: number, reason: string) =>
    new Refusal(
      409,
      'udp_ports_taken',
      `Could not find a free port between ${first} and ${last} on host 0.0.0.0, last exception: ${reason}`,
    ),
} as const;
