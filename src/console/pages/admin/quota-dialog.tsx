/** The quota of a user or a lab: used beside allowed, and limits of its own. */
import { useSignal, type Signal } from '@preact/signals';
import type { JSX } from 'preact';
import type { HolderQuotaShape, UsageShape } from '../../../api/shapes/quotas.js';
import type { Call } from '../../api/call.js';
import { labQuota, limitLab, limitUser, userQuota } from '../../api/quotas.js';
import { ActionDialog } from '../../parts/action-dialog.js';
import { Dialog } from '../../parts/dialog.js';
import { Failure, Loading } from '../../parts/notice.js';
import { bytesText, countText } from '../../parts/quantity.js';
import { may } from '../../state/account.js';
import { useReading } from '../../state/reading.js';
import { ADMIN_TEXTS } from './texts.js';

const { quotas: texts } = ADMIN_TEXTS;
const MEBI = 1024 * 1024;
const NO_LIMIT = 'none';

type Limits = HolderQuotaShape['limits'];
type Resource = keyof UsageShape;
type LimitedResource = keyof Limits;

export interface QuotaHolder {
  readonly kind: 'user' | 'lab';
  readonly id: string;
  readonly name: string;
}

interface QuotaDialogProps {
  readonly holder: QuotaHolder;
  readonly onClose: () => void;
}

export function QuotaDialog({ holder, onClose }: QuotaDialogProps): JSX.Element {
  const { kind, id, name } = holder;
  const reading = useReading(id, () => (kind === 'user' ? userQuota(id) : labQuota(id)));
  const { answer, error } = reading;
  if (answer.value === undefined || error.value !== undefined)
    return (
      <Dialog title={texts.showOf(name)} onClose={onClose}>
        {error.value === undefined ? <Loading /> : <Failure error={error.value} />}
      </Dialog>
    );
  return <Form holder={holder} reading={reading} now={answer.value} onClose={onClose} />;
}

interface FormProps extends QuotaDialogProps {
  readonly reading: ReturnType<typeof useReading<HolderQuotaShape>>;
  readonly now: HolderQuotaShape;
}

/** An empty field has the limit of the settings. */
function Form({ holder, reading, now, onClose }: FormProps): JSX.Element {
  const { kind, id, name } = holder;
  const typed = useSignal<Readonly<Record<string, string>>>(textsOf(now.limits));
  const mayChange = may(kind === 'user' ? 'users:write' : 'admin');
  const wanted = limitsIn(typed.value);
  const limits = wanted ?? {};
  const call: Call<unknown> = kind === 'user' ? limitUser(id, limits) : limitLab(id, limits);
  const rows = (
    <table class="quota">
      <thead>
        <tr>
          <th scope="col">{texts.resource}</th>
          <th scope="col" class="number">
            {texts.used}
          </th>
          <th scope="col" class="number">
            {texts.allowed}
          </th>
          {mayChange && <th scope="col">{texts.own}</th>}
        </tr>
      </thead>
      <tbody>
        {(Object.keys(now.usage) as Resource[]).map((resource) => (
          <Row key={resource} resource={resource} usage={now.usage} typed={mayChange ? typed : undefined} />
        ))}
      </tbody>
    </table>
  );
  if (!mayChange)
    return (
      <Dialog title={texts.showOf(name)} onClose={onClose}>
        {rows}
      </Dialog>
    );
  return (
    <ActionDialog
      title={texts.showOf(name)}
      button={texts.change}
      call={call}
      isReady={wanted !== undefined}
      run={() => reading.change((known) => ({ ...known, limits }), call)}
      onClose={onClose}
    >
      {rows}
      <p class="hint">{texts.hint(kind)}</p>
    </ActionDialog>
  );
}

interface RowProps {
  readonly resource: Resource;
  readonly usage: UsageShape;
  readonly typed: Signal<Readonly<Record<string, string>>> | undefined;
}

function Row({ resource, usage, typed }: RowProps): JSX.Element {
  const { used, allowed } = usage[resource];
  const amount = isBytes(resource) ? bytesText : countText;
  const label = texts.resources[resource];
  return (
    <tr>
      <th scope="row">{label}</th>
      <td class="number">{amount(used)}</td>
      <td class="number">{allowed === null ? texts.unbounded : amount(allowed)}</td>
      {typed !== undefined && (
        <td>
          {resource !== 'disk' && (
            <input
              aria-label={texts.limitOf(isBytes(resource) ? `${label} (MiB)` : label)}
              autocomplete="off"
              placeholder={isBytes(resource) ? 'MiB' : ''}
              value={typed.value[resource] ?? ''}
              onInput={({ currentTarget: { value } }) => {
                typed.value = { ...typed.value, [resource]: value };
              }}
            />
          )}
        </td>
      )}
    </tr>
  );
}

const isBytes = (resource: string): boolean => resource === 'memory' || resource === 'disk';

function textsOf(limits: Limits): Record<string, string> {
  return Object.fromEntries(
    Object.entries(limits).map(([resource, limit]) => {
      const amount = isBytes(resource) ? (limit ?? 0) / MEBI : limit;
      return [resource, limit === null ? NO_LIMIT : String(amount)];
    }),
  );
}

/** Undefined when something is no number. */
function limitsIn(typed: Readonly<Record<string, string>>): Limits | undefined {
  const limits: Partial<Record<LimitedResource, number | null>> = {};
  for (const [resource, text] of Object.entries(typed)) {
    const word = text.trim();
    if (word === '') continue;
    if (word !== NO_LIMIT && !/^\d{1,12}$/.test(word)) return undefined;
    const number = Number(word) * (isBytes(resource) ? MEBI : 1);
    limits[resource as LimitedResource] = word === NO_LIMIT ? null : number;
  }
  return limits;
}
