/** The place of the page, whose script is loaded when it is first opened. */
import { useSignal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { PageProps } from '../pages/page-props.js';
import type { ConsolePage } from '../pages/table.js';
import { TEXTS } from '../texts.js';
import { Failure, Loading } from './notice.js';

interface OutletProps extends PageProps {
  readonly page: ConsolePage | undefined;
}

export function Outlet({ page, params, query }: OutletProps): JSX.Element {
  const loaded = useSignal<{ readonly View: ComponentType<PageProps> } | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    page?.load().then(
      (View) => (loaded.value = { View }),
      (reason: unknown) => (error.value = reason),
    );
  }, []);
  if (page === undefined) return <p class="notice">{TEXTS.notFound}</p>;
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (loaded.value === undefined) return <Loading />;
  const { View } = loaded.value;
  return <View params={params} query={query} />;
}
