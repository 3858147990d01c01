/** The doctor: every check of the host, with what was found, what it means, and the command that repairs it. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ExaminationShape } from '../../../api/shapes/doctor.js';
import { send } from '../../api/call.js';
import { examineHost } from '../../api/overview.js';
import { AsCurl } from '../../parts/as-curl.js';
import { Checks } from '../../parts/checks.js';
import { Failure } from '../../parts/notice.js';
import { TEXTS } from '../../texts.js';
import { AdminFrame } from './admin-frame.js';
import { ADMIN_TEXTS } from './texts.js';

const { doctor: texts } = ADMIN_TEXTS;
const LEVELS = ['failure', 'warning', 'note', 'ok'];

/** The host is examined when the page opens: that is what it was opened for. */
export function DoctorPage(): JSX.Element {
  const found = useSignal<ExaminationShape | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const isBusy = useSignal(true);
  const examine = async (): Promise<void> => {
    isBusy.value = true;
    try {
      found.value = await send(examineHost());
      error.value = undefined;
    } catch (reason) {
      error.value = reason;
    }
    isBusy.value = false;
  };
  useEffect(() => void examine(), []);
  const checks = [...(found.value?.checks ?? [])].sort(
    (a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level),
  );
  return (
    <AdminFrame subject="doctor">
      <div class="bar">
        <span class="count" role="status">
          {isBusy.value ? TEXTS.dashboard.examining : texts.summary(checks.map(({ level }) => level))}
        </span>
        <button type="button" disabled={isBusy} onClick={() => void examine()}>
          {texts.again}
        </button>
      </div>
      {error.value !== undefined && <Failure error={error.value} />}
      <Checks checks={checks} />
      <AsCurl call={examineHost()} />
    </AdminFrame>
  );
}
