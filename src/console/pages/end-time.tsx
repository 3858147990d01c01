/** The dialog with the end of a lab: when it ends, by the clock or by idleness, and another end. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { EndTimeShape } from '../../api/shapes/end-times.js';
import { changeEndTime, showEndTime } from '../api/end-times.js';
import { ActionDialog } from '../parts/action-dialog.js';
import { Dialog } from '../parts/dialog.js';
import { Failure, Loading } from '../parts/notice.js';
import { Ahead, Moment } from '../parts/quantity.js';
import { timeFromNow } from '../state/clock.js';
import { mayOn } from '../state/grants.js';
import { useReading } from '../state/reading.js';

const texts = {
  title: (lab: string): string => `End of ${lab}`,
  never: 'Nothing ends this lab.',
  ends: 'It ends ',
  warned: 'It was warned, and ends soon.',
  used: 'It was used last ',
  at: 'Ends at',
  later: { 1: '1 hour later', 8: '8 hours later', 24: '1 day later' },
  noEnd: 'No end',
  idle: 'Ends when nobody has used it for (minutes; empty is never)',
  snapshot: 'Take a snapshot first',
  longest: (hours: number): string => `You may set an end up to ${hours} hours from now.`,
  longestIdle: (minutes: number): string => `You may leave it idle for ${minutes} minutes at most.`,
  after: 'Its nodes are saved and stopped then, and it is closed. Nothing of it is deleted.',
  button: 'Set',
};
const HOUR_MS = 3_600_000;

interface EndTimeProps {
  readonly id: string;
  readonly name: string;
  readonly onClose: () => void;
}

export function EndTime({ id, name, onClose }: EndTimeProps): JSX.Element {
  const reading = useReading(id, () => showEndTime(id));
  const { answer, error } = reading;
  if (answer.value !== undefined)
    return (
      <EndForm now={answer.value} onClose={onClose} set={(call) => reading.change((known) => known, call)} />
    );
  return (
    <Dialog title={texts.title(name)} onClose={onClose}>
      {error.value === undefined ? <Loading /> : <Failure error={error.value} />}
    </Dialog>
  );
}

interface EndFormProps {
  readonly now: EndTimeShape;
  readonly set: (call: ReturnType<typeof changeEndTime>) => Promise<boolean>;
  readonly onClose: () => void;
}

function EndForm({ now, set, onClose }: EndFormProps): JSX.Element {
  const { project_id: id, name, ends_at: endsAt, last_used_at: usedAt, longest } = now;
  const at = useSignal(endsAt === null ? '' : localText(Date.parse(endsAt)));
  const before = useSignal(at.value);
  const minutes = useSignal(now.idle_after === null ? '' : String(Math.round(now.idle_after / 60)));
  const takesSnapshot = useSignal(now.snapshot);
  const idle = Number(minutes.value);
  const call = changeEndTime(id, {
    // A field of the browser has no seconds: an end that nobody has touched stays as it is.
    ...(at.value === before.value
      ? {}
      : { ends_at: at.value === '' ? null : new Date(at.value).toISOString() }),
    idle_after: minutes.value === '' ? null : Math.round(idle * 60),
    snapshot: takesSnapshot.value,
  });
  const mayChange = mayOn(id, 'projects:write');
  const later = (hours: number): void => {
    const today = Date.parse(timeFromNow(0));
    const from = at.value === '' ? today : Math.max(today, Date.parse(at.value));
    at.value = localText(from + hours * HOUR_MS);
  };
  const facts = (
    <>
      {endsAt === null ? (
        now.idle_after === null && <p>{texts.never}</p>
      ) : (
        <p>
          {texts.ends}
          <Ahead time={endsAt} /> ({new Date(endsAt).toLocaleString()})
        </p>
      )}
      {now.is_warned && (
        <p class="state warn">
          <span aria-hidden="true">⚠</span> {texts.warned}
        </p>
      )}
      {usedAt !== null && (
        <p class="hint">
          {texts.used}
          <Moment time={usedAt} />.
        </p>
      )}
    </>
  );
  if (!mayChange)
    return (
      <Dialog title={texts.title(name)} onClose={onClose}>
        {facts}
      </Dialog>
    );
  return (
    <ActionDialog
      title={texts.title(name)}
      button={texts.button}
      call={call}
      isReady={
        (at.value === '' || !Number.isNaN(Date.parse(at.value))) && (minutes.value === '' || idle >= 1)
      }
      run={() => set(call)}
      onClose={onClose}
    >
      {facts}
      <label>
        {texts.at}
        <input
          type="datetime-local"
          value={at}
          onInput={({ currentTarget }) => (at.value = currentTarget.value)}
        />
      </label>
      <div class="buttons">
        {([1, 8, 24] as const).map((hours) => (
          <button key={hours} type="button" onClick={() => later(hours)}>
            {texts.later[hours]}
          </button>
        ))}
        <button type="button" disabled={at.value === ''} onClick={() => (at.value = '')}>
          {texts.noEnd}
        </button>
      </div>
      {longest.ends_in !== null && <p class="hint">{texts.longest(Math.floor(longest.ends_in / 3600))}</p>}
      <label>
        {texts.idle}
        <input
          type="number"
          min={1}
          step={1}
          value={minutes}
          onInput={({ currentTarget }) => (minutes.value = currentTarget.value)}
        />
      </label>
      {longest.idle_after !== null && (
        <p class="hint">{texts.longestIdle(Math.floor(longest.idle_after / 60))}</p>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={takesSnapshot}
          onChange={({ currentTarget: { checked } }) => (takesSnapshot.value = checked)}
        />
        {texts.snapshot}
      </label>
      <p class="hint">{texts.after}</p>
    </ActionDialog>
  );
}

/** A time as the browser's own field takes it, in the zone of the browser. */
function localText(milliseconds: number): string {
  const local = milliseconds - new Date(milliseconds).getTimezoneOffset() * 60_000;
  return new Date(local).toISOString().slice(0, 16);
}
