/** The menu of the layers of the map. */
import type { JSX } from 'preact';
import { mapLayers } from '../state/preferences.js';
import { withLayer, type Layer } from './layers.js';
import { MAP_TEXTS } from './texts.js';

export function LayerMenu(): JSX.Element {
  const shown = mapLayers.value;
  return (
    <details class="layers">
      <summary>{MAP_TEXTS.layers}</summary>
      <fieldset>
        <legend class="unseen">{MAP_TEXTS.layers}</legend>
        {Object.entries(MAP_TEXTS.layerNames).map(([layer, name]) => (
          <label key={layer}>
            <input
              type="checkbox"
              checked={shown.has(layer as Layer)}
              onChange={({ currentTarget: { checked } }) =>
                (mapLayers.value = withLayer(mapLayers.value, layer as Layer, checked))
              }
            />
            {name}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
