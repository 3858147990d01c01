import t from 'tap';
import type { NodeStatus } from '../../src/lab/lab-run.js';
import type { Topology } from '../../src/lab/topology/topology.js';
import type { StoredNode } from '../../src/lab/gns3-file/topology-schema.js';
import { checkExportable, checkStopped } from '../../src/snapshots/stopped-nodes.js';
import { storedNodeOf } from '../support/stored-objects.js';

const ALWAYS = [
  'atm_switch',
  'cloud',
  'ethernet_hub',
  'ethernet_switch',
  'frame_relay_switch',
  'nat',
] as const;
const MACHINES = ['qemu', 'docker', 'dynamips', 'vpcs', 'vmware', 'virtualbox', 'iou', 'traceng'] as const;

/** A project in which all nodes have this status. */
function project(
  types: readonly StoredNode['node_type'][],
  status: NodeStatus,
): Parameters<typeof checkStopped>[0] {
  const nodes = types.map((node_type, index) => [String(index), storedNodeOf(index, { node_type })] as const);
  const topology = { nodes: new Map(nodes), statusOf: () => status, context: { isHere: () => true } };
  return { isOpen: true, topology: topology as unknown as Topology };
}

void t.test('nodes that always run forbid nothing', (t) => {
  checkStopped(project(ALWAYS, 'started'));
  t.end();
});

void t.test('any other running node forbids it', (t) => {
  for (const type of MACHINES) {
    checkStopped(project([type], 'stopped'));
    t.throws(
      () => {
        checkStopped(project([...ALWAYS, type], 'started'));
      },
      { status: 409, message: 'Project must be stopped in order to export it' },
      type,
    );
  }
  checkStopped({ ...project(['qemu'], 'started'), isOpen: false });
  t.end();
});

void t.test('machines whose content is elsewhere are refused', (t) => {
  const clone = storedNodeOf(1, { node_type: 'virtualbox', properties: { linked_clone: true } });
  const machine = storedNodeOf(2, { node_type: 'vmware' });
  t.throws(
    () => {
      checkExportable([machine, clone]);
    },
    { message: /^Projects with a linked virtualbox clone node cannot not be exported/ },
  );
  t.throws(
    () => {
      checkExportable([machine]);
    },
    { status: 409, message: 'Projects with a vmware node cannot be exported' },
  );
  checkExportable(ALWAYS.map((node_type, index) => storedNodeOf(index, { node_type })));
  t.end();
});
