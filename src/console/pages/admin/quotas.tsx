/** Quotas: what is used beside what is allowed, of the server, of oneself, and of each user and lab. */
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { UsageShape } from '../../../api/shapes/quotas.js';
import { listUsers } from '../../api/accounts.js';
import { listProjects } from '../../api/projects.js';
import { ownQuota } from '../../api/quotas.js';
import { Failure, Loading } from '../../parts/notice.js';
import { bytesText, countText, Meter } from '../../parts/quantity.js';
import { Table, type Column } from '../../parts/table.js';
import { may } from '../../state/account.js';
import { useReading } from '../../state/reading.js';
import { AdminFrame } from './admin-frame.js';
import { QuotaDialog, type QuotaHolder } from './quota-dialog.js';
import { titleOf } from '../../state/subjects.js';
import { ADMIN_TEXTS } from './texts.js';

const { quotas: texts } = ADMIN_TEXTS;

export function QuotasPage(): JSX.Element {
  const { answer, error, again } = useReading('quota', ownQuota);
  if (error.value !== undefined) return <Failure error={error.value} />;
  if (answer.value === undefined) return <Loading />;
  const { user, server } = answer.value;
  return (
    <AdminFrame subject="quotas">
      <div class="cards">
        {server !== null && <UsageCard title={texts.server} usage={server} />}
        {user !== null && <UsageCard title={texts.mine} usage={user} />}
      </div>
      {may('users:read') && may('projects:read') && <Holders again={again} />}
    </AdminFrame>
  );
}

interface UsageCardProps {
  readonly title: string;
  readonly usage: UsageShape;
}

function UsageCard({ title, usage }: UsageCardProps): JSX.Element {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {Object.entries(usage).map(([resource, { used, allowed }]) => {
        const amount = resource === 'memory' || resource === 'disk' ? bytesText : countText;
        const label = texts.resources[resource as keyof UsageShape];
        if (allowed === null)
          return (
            <div key={resource} class="meter">
              <span>{label}</span>
              <span class="hint">{texts.unbounded}</span>
              <span class="number">{amount(used)}</span>
            </div>
          );
        return (
          <Meter
            key={resource}
            label={label}
            share={allowed === 0 ? 1 : used / allowed}
            text={texts.of(amount(used), amount(allowed))}
          />
        );
      })}
    </section>
  );
}

const nameOf = ({ name }: QuotaHolder): string => name;

/** All users and labs. What one of them uses is asked for when somebody wants to see it. */
function Holders({ again }: { readonly again: () => Promise<void> }): JSX.Element {
  const users = useReading('users', listUsers);
  const labs = useReading('labs', listProjects);
  const opened = useSignal<QuotaHolder | undefined>(undefined);
  const rows = useComputed<readonly QuotaHolder[]>(() => [
    ...(users.answer.value ?? []).map(({ user_id: id, name }) => ({ kind: 'user' as const, id, name })),
    ...(labs.answer.value ?? []).map(({ project_id: id, name }) => ({ kind: 'lab' as const, id, name })),
  ]);
  const reason = users.error.value ?? labs.error.value;
  if (reason !== undefined) return <Failure error={reason} />;
  const columns: readonly Column<QuotaHolder>[] = [
    { title: texts.name, order: nameOf, cell: nameOf },
    { title: texts.kind, order: ({ kind }) => kind, cell: ({ kind }) => texts.kinds[kind] },
    {
      title: texts.quota,
      order: nameOf,
      cell: (holder) => (
        <button type="button" aria-label={texts.showOf(holder.name)} onClick={() => (opened.value = holder)}>
          {texts.show}
        </button>
      ),
    },
  ];
  return (
    <>
      <Table
        label={titleOf('quotas')}
        filterLabel={texts.filter}
        rows={rows}
        columns={columns}
        idOf={({ id }) => id}
        nameOf={nameOf}
        textOf={({ name, kind }) => `${name} ${texts.kinds[kind]}`}
      />
      {opened.value !== undefined && (
        <QuotaDialog
          holder={opened.value}
          onClose={() => {
            opened.value = undefined;
            void again();
          }}
        />
      )}
    </>
  );
}
