import t from 'tap';
import { drawingView } from '../../../src/lab/topology/views.js';
import { idOf } from '../../support/stored-objects.js';

void t.test('a drawing has exactly the 8 keys of the contract, sorted, with its defaults', (t) => {
  const view = drawingView({ drawing_id: idOf(1), later: 1 }, idOf(9));
  const expected = {
    drawing_id: idOf(1),
    locked: false,
    project_id: idOf(9),
    rotation: 0,
    svg: '<svg></svg>',
    x: 0,
    y: 0,
    z: 2,
  };
  t.equal(JSON.stringify(view), JSON.stringify(expected));
  t.end();
});

void t.test('stored values are shown, zero as well', (t) => {
  const stored = { locked: true, rotation: -90, svg: '<svg/>', x: -1, y: 1, z: 0 };
  t.match(drawingView({ drawing_id: idOf(1), ...stored }, idOf(9)), stored);
  t.end();
});

void t.test('the name of a picture that could not be read is shown as an empty picture', (t) => {
  for (const svg of ['', 'gone.png']) {
    t.equal(drawingView({ drawing_id: idOf(1), svg }, idOf(9)).svg, '<svg></svg>');
  }
  t.end();
});
