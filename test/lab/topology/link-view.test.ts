import t from 'tap';
import { defaultEndLabel, linkView } from '../../../src/lab/topology/views.js';
import { idOf, storedLinkOf } from '../../support/stored-objects.js';

void t.test('a link has exactly the 11 keys of the contract, sorted, whatever is stored', (t) => {
  const view = linkView({ ...storedLinkOf(1, [2, 3]), later: 1 }, idOf(9), 'serial', undefined);
  t.same(view, {
    capture_compute_id: null,
    capture_file_name: null,
    capture_file_path: null,
    capturing: false,
    filters: {},
    link_id: idOf(1),
    link_style: {},
    link_type: 'serial',
    nodes: [{ adapter_number: 0, label: defaultEndLabel(0, 3), node_id: idOf(2), port_number: 3 }],
    project_id: idOf(9),
    suspend: false,
  });
  t.same(Object.keys(view), Object.keys(view).toSorted());
  t.equal(Object.keys(view).length, 11);
  t.end();
});

void t.test('stored values are shown, and only the four keys of an end', (t) => {
  const end = { node_id: idOf(2), adapter_number: 1, port_number: 0, label: { text: 'mine' }, later: 1 };
  const stored = { filters: { delay: [5] }, link_style: { width: 2 }, suspend: true };
  const view = linkView({ link_id: idOf(1), nodes: [end], ...stored }, idOf(9), 'ethernet', undefined);
  t.match(view, stored);
  t.same(view.nodes, [{ adapter_number: 1, label: { text: 'mine' }, node_id: idOf(2), port_number: 0 }]);
  t.end();
});

void t.test('an end without a label is named by its numbers', (t) => {
  t.equal(defaultEndLabel(2, 5).text, '2/5');
  t.end();
});

void t.test('a capture is shown while it runs, and its file afterwards', (t) => {
  const capture = { computeId: 'b', fileName: 'a.pcap', filePath: '/p/a.pcap', isRunning: true };
  const view = (isRunning: boolean): unknown =>
    linkView(storedLinkOf(1, [2, 3]), idOf(9), 'ethernet', { ...capture, isRunning });
  const file = { capture_file_name: 'a.pcap', capture_file_path: '/p/a.pcap' };
  t.match(view(true), { ...file, capturing: true, capture_compute_id: 'b' });
  t.match(view(false), { ...file, capturing: false, capture_compute_id: null });
  t.end();
});
