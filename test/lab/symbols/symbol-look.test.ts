import t from 'tap';
import { findSymbolLook } from '../../../src/lab/symbols/symbol-look.js';
import {
  buildBar,
  buildCloud,
  buildDisc,
  buildScreen,
  buildSlab,
  buildSquare,
} from '../../../src/lab/symbols/symbol-surface.js';

void t.test('affinity themes give shape and colour to every symbol alike', (t) => {
  const disc = findSymbolLook('Affinity-circle-blue', 'router');
  t.equal(disc.buildSurface, buildDisc);
  t.same(findSymbolLook('Affinity-circle-blue', 'cloud'), disc);
  t.equal(findSymbolLook('Affinity-square-red', 'router').buildSurface, buildSquare);
  const colours = ['blue', 'gray', 'green', 'red'].map(
    (colour) => findSymbolLook(`Affinity-circle-${colour}`, 'router').tint.base,
  );
  t.equal(new Set(colours).size, 4);
  t.end();
});

void t.test('in the classic theme the kind of device gives the surface', (t) => {
  t.equal(findSymbolLook('Classic', 'router').buildSurface, buildBar);
  t.equal(findSymbolLook('Classic', 'ethernet_switch').buildSurface, buildSlab);
  t.equal(findSymbolLook('Classic', 'vpcs_guest').buildSurface, buildScreen);
  t.equal(findSymbolLook('Classic', 'nat').buildSurface, buildCloud);
  t.end();
});
