import t from 'tap';
import { WantedGraph } from '../../../src/engine/control/wanted-graph.js';
import type {
  Attachment,
  DeviceSettings,
  NumberedTap,
  Order,
} from '../../../src/engine/forwarding/orders.js';
import type { TapPlan } from '../../../src/engine/taps/tap-plan.js';

const HUB: DeviceSettings = { kind: 'ethernet_hub', settings: null };
const SWITCH: DeviceSettings = { kind: 'ethernet_switch', settings: { ports: [] } };

const attachment = (port: number, row = port): Attachment => ({
  port,
  row,
  endpoint: { type: 'null' },
  policy: { suspended: false, filters: undefined },
});

const planOf = (log: number): TapPlan => ({
  log,
  format: 'pcap',
  packets: 'frames',
  opening: Uint8Array.of(1, 2),
  snaplen: 100,
  direction: 'both',
  sample: 1,
  bpf: undefined,
  maxPackets: 0,
  maxOctets: 0,
});

function graphOf(...orders: readonly Order[]): WantedGraph {
  const graph = new WantedGraph();
  for (const order of orders) graph.note(order);
  return graph;
}

void t.test('the orders are repeated, devices before their ports', (t) => {
  const orders: Order[] = [
    { do: 'add', device: 1, settings: HUB },
    { do: 'attach', device: 1, attachment: attachment(2) },
    { do: 'attach', device: 1, attachment: attachment(1) },
    { do: 'add', device: 2, settings: SWITCH },
    { do: 'attach', device: 2, attachment: attachment(7) },
  ];
  const graph = graphOf(...orders);
  t.same(graph.orders(), orders);
  t.same(graphOf(...graph.orders()).orders(), orders, 'and makes the same again');
  t.same(new WantedGraph().orders(), []);
  t.end();
});

void t.test('only what is still wanted is ordered, as it was wanted last', (t) => {
  const graph = graphOf(
    { do: 'add', device: 1, settings: HUB },
    { do: 'attach', device: 1, attachment: attachment(1) },
    { do: 'add', device: 2, settings: HUB },
    { do: 'attach', device: 2, attachment: attachment(1) },
    { do: 'attach', device: 2, attachment: attachment(2) },
    { do: 'configure', device: 2, settings: SWITCH },
    { do: 'detach', device: 2, port: 1 },
    { do: 'attach', device: 2, attachment: attachment(2, 9) },
    { do: 'remove', device: 1 },
    { do: 'inspect', device: 2 },
  );
  t.same(graph.orders(), [
    { do: 'add', device: 2, settings: SWITCH },
    { do: 'attach', device: 2, attachment: attachment(2, 9) },
  ]);
  t.end();
});

void t.test('a port is wanted with the policy that was set last, with its taps', (t) => {
  const policy = { suspended: true, filters: undefined };
  const tap = (number: number): NumberedTap => ({ port: 1, tap: number, plan: planOf(number) });
  const graph = graphOf(
    { do: 'add', device: 1, settings: HUB },
    { do: 'attach', device: 1, attachment: attachment(1) },
    { do: 'tap', device: 1, tap: tap(1) },
    { do: 'tap', device: 1, tap: tap(2) },
    { do: 'setPolicy', device: 1, port: 1, policy },
    { do: 'untap', device: 1, port: 1, tap: 1 },
    { do: 'release', log: 1 },
  );
  t.same(graph.orders(), [
    { do: 'add', device: 1, settings: HUB },
    { do: 'attach', device: 1, attachment: { ...attachment(1), policy } },
    { do: 'tap', device: 1, tap: tap(2) },
  ]);
  graph.note({ do: 'detach', device: 1, port: 1 });
  t.same(graph.orders(), [{ do: 'add', device: 1, settings: HUB }]);
  t.end();
});

void t.test('orders about what is not there want nothing', (t) => {
  const graph = graphOf(
    { do: 'configure', device: 1, settings: HUB },
    { do: 'attach', device: 1, attachment: attachment(1) },
    { do: 'detach', device: 1, port: 1 },
    { do: 'remove', device: 1 },
    { do: 'inspect', device: 1 },
    { do: 'setPolicy', device: 1, port: 1, policy: { suspended: true, filters: undefined } },
    { do: 'tap', device: 1, tap: { port: 1, tap: 1, plan: planOf(1) } },
    { do: 'untap', device: 1, port: 1, tap: 1 },
  );
  t.same(graph.orders(), []);
  t.end();
});
