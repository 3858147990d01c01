/** The filters of a link, each way by itself, as a form that the server's list of filters makes. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { DirectedShape, FilterTypeShape } from '../../api/shapes/links.js';
import { send } from '../api/call.js';
import { listFilters, showDirected } from '../api/lab.js';
import { AsCurl } from '../parts/as-curl.js';
import { changeDirected } from '../api/lab.js';
import { failed } from '../state/toasts.js';
import type { MapCommands } from './commands.js';
import type { LabMap } from './lab-map.js';
import type { LinkFacts } from './scene.js';
import { MAP_TEXTS } from './texts.js';

interface LinkFiltersProps {
  readonly lab: LabMap;
  readonly commands: MapCommands;
  readonly link: LinkFacts;
  /** The ends to which the first and the second way lead. */
  readonly names: readonly [string, string];
}

type Values = Readonly<Record<string, string>>;

const WAYS = ['forward', 'backward'] as const;

export function LinkFilters({ lab, commands, link, names }: LinkFiltersProps): JSX.Element | null {
  const types = useSignal<readonly FilterTypeShape[]>([]);
  const values = useSignal<Values>({});
  const isReady = useSignal(false);
  const known = JSON.stringify([link.filters, link.forward, link.backward]);
  useEffect(() => {
    const read = async (): Promise<void> => {
      const [offered, directed] = await Promise.all([
        send(listFilters(lab.id, link.id)),
        send(showDirected(lab.id, link.id)),
      ]);
      types.value = offered;
      values.value = valuesOf(link, directed);
      isReady.value = true;
    };
    read().catch(failed);
  }, [link.id, known]);
  if (!isReady.value) return null;
  const [forward, backward] = WAYS.map((way) => filtersOf(types.value, values.value, way)) as [
    object,
    object,
  ];
  const apply = (event: Event): void => {
    event.preventDefault();
    void commands.filter(link.id, forward, backward);
  };
  return (
    <form class="filters" aria-label={MAP_TEXTS.filters} onSubmit={apply}>
      <h3>{MAP_TEXTS.filters}</h3>
      {WAYS.map((way, index) => (
        <fieldset key={way}>
          <legend>{`${index === 0 ? '→' : '←'} ${names[index] ?? ''}`}</legend>
          {types.value.flatMap((type) =>
            type.parameters.map((parameter, place) => {
              const key = keyOf(way, type.type, place);
              return (
                <label key={key} title={type.description}>
                  <span>{`${type.name}: ${parameter.name}`}</span>
                  <Field
                    parameter={parameter}
                    value={values.value[key] ?? ''}
                    onValue={(value) => (values.value = { ...values.value, [key]: value })}
                  />
                  <span class="unit">{parameter.unit ?? ''}</span>
                </label>
              );
            }),
          )}
        </fieldset>
      ))}
      <AsCurl call={changeDirected(lab.id, link.id, forward, backward)} />
      <div class="buttons">
        <button type="button" onClick={() => void commands.filter(link.id, {}, {})}>
          {MAP_TEXTS.clear}
        </button>
        <button class="primary">{MAP_TEXTS.apply}</button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly parameter: FilterTypeShape['parameters'][number];
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function Field({ parameter: { type, minimum, maximum }, value, onValue }: FieldProps): JSX.Element {
  const onInput = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void => {
    onValue(currentTarget.value);
  };
  return type === 'int' ? (
    <input type="number" min={minimum} max={maximum} value={value} onInput={onInput} />
  ) : (
    <input value={value} onInput={onInput} />
  );
}

const keyOf = (way: string, type: string, place: number): string => `${way} ${type} ${place}`;

/** Filters of the whole link are those of both ways. */
function valuesOf({ filters }: LinkFacts, directed: DirectedShape): Values {
  const values: Record<string, string> = {};
  for (const way of WAYS) {
    for (const [type, given] of Object.entries({ ...filters, ...directed[way] }))
      for (const [place, value] of (Array.isArray(given) ? (given as unknown[]) : []).entries())
        values[keyOf(way, type, place)] = String(value);
  }
  return values;
}

/** Fields that are empty are filters that are not wanted; behind a first value, they are 0. */
function filtersOf(
  types: readonly FilterTypeShape[],
  values: Values,
  way: string,
): Record<string, unknown[]> {
  const filters: Record<string, unknown[]> = {};
  for (const { type, parameters } of types) {
    if ((values[keyOf(way, type, 0)] ?? '') === '') continue;
    filters[type] = parameters.map((parameter, place) => {
      const value = values[keyOf(way, type, place)] ?? '';
      return parameter.type === 'int' ? Number(value) : value;
    });
  }
  return filters;
}
