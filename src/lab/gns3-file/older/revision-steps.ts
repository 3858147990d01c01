/** The changes of topology files from revision 5 to 9, a step each. Pure: a step makes a new file of the next revision. */
import { z } from 'zod';
import { openObject } from '../topology-schema.js';

const olderNode = z.looseObject({
  node_type: z.string(),
  node_id: z.string(),
  properties: openObject.nullish(),
});

/** The parts of a file of revision 5 or later that the steps need. The format checks the outcome. */
export const olderFile = z.looseObject({
  revision: z.int(),
  topology: z.looseObject({ nodes: z.array(olderNode).default([]) }),
});

/** A file of a known revision, with all that it has. */
export type OlderFile = Readonly<Record<string, unknown>> & { readonly revision: number };
type OlderNode = z.output<typeof olderNode>;
type Values = Readonly<Record<string, unknown>>;

/** By the revision that each begins with. */
export const STEPS: Readonly<Record<number, (file: z.output<typeof olderFile>) => OlderFile>> = {
  5: (file) => withNodes(file, 6, withoutSerialConsole),
  // From here on the files of a router are in a folder of its own.
  6: (file) => withNodes(file, 7, (node) => node),
  7: (file) => withNodes(file, 8, withoutConfigurations),
  8: (file) => withNodes(withDrawingGrid(file), 9, withOnClose),
};

function withNodes(
  file: z.output<typeof olderFile>,
  revision: number,
  change: (node: OlderNode) => OlderNode,
): OlderFile {
  return { ...file, revision, topology: { ...file.topology, nodes: file.topology.nodes.map(change) } };
}

/** No console is serial any more, and consoles of virtual machines have no switch. */
function withoutSerialConsole(node: OlderNode): OlderNode {
  const plain = node['console_type'] === 'serial' ? { ...node, console_type: 'telnet' } : node;
  return isForeignMachine(node) ? without(plain, ['enable_remote_console']) : plain;
}

/** The configurations have fixed names in the folder of their node, and are no properties. */
function withoutConfigurations(node: OlderNode): OlderNode {
  switch (node.node_type) {
    case 'vpcs':
      return without(node, ['startup_script', 'startup_script_path']);
    case 'dynamips':
    case 'iou':
      return without(node, [
        'startup_config',
        'startup_config_content',
        'private_config',
        'private_config_content',
      ]);
    default:
      return node;
  }
}

/** Drawings get a grid of their own; before, they used the grid of the nodes. */
function withDrawingGrid(file: z.output<typeof olderFile>): z.output<typeof olderFile> {
  return 'grid_size' in file ? { drawing_grid_size: file['grid_size'], ...file } : file;
}

/** One setting says how machines end, templates have the name that appliances had, and no console is `none`. */
function withOnClose(node: OlderNode): OlderNode {
  const { appliance_id: template, ...rest } = node;
  const named = { ...rest, ...(template === undefined ? {} : { template_id: template }) };
  const next: OlderNode = node['console_type'] === null ? { ...named, console_type: 'none' } : named;
  const given: Values = node.properties ?? {};
  const old = ['acpi_shutdown', 'save_vm_state'].filter((key) => key in given);
  if (old.length === 0 || !(node.node_type === 'qemu' || isForeignMachine(node))) return next;
  const onClose =
    given['save_vm_state'] === true
      ? 'save_vm_state'
      : given['acpi_shutdown'] === true
        ? 'shutdown_signal'
        : 'power_off';
  const changed = without(next, old);
  return { ...changed, properties: { on_close: onClose, ...changed.properties } };
}

function isForeignMachine({ node_type: type }: OlderNode): boolean {
  return type === 'vmware' || type === 'virtualbox';
}

function without(node: OlderNode, names: readonly string[]): OlderNode {
  if (node.properties == null) return node;
  const left = Object.entries(node.properties).filter(([name]) => !names.includes(name));
  return { ...node, properties: Object.fromEntries(left) };
}
