/** The server at a glance. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import type { ExaminationShape } from '../../api/shapes/doctor.js';
import { send } from '../api/call.js';
import { examineHost } from '../api/overview.js';
import { Checks } from '../parts/checks.js';
import { Loading } from '../parts/notice.js';
import { bytesText, countText, Meter, percentText, rateText, spanText } from '../parts/quantity.js';
import { Sparkline } from '../parts/sparkline.js';
import { may } from '../state/account.js';
import { glance } from '../state/overview.js';
import { addressOf } from '../state/place.js';
import { failed } from '../state/toasts.js';
import { TEXTS } from '../texts.js';

const { dashboard: texts } = TEXTS;
const HUNDRED = 100;

export function DashboardPage(): JSX.Element {
  const { value } = glance;
  if (value === undefined) return <Loading />;
  const { figures, engines, drops, series, loopBusy } = value;
  const latest = series.at(-1);
  const percent = (share: number): string => percentText(share / HUNDRED);
  const dropped = Object.entries(drops).sort(([, a], [, b]) => b - a);
  return (
    <div class="page">
      <h1>{texts.title}</h1>
      <p class="hint">
        {texts.about(figures.version, spanText(figures.uptime_seconds), percentText(loopBusy))}
      </p>
      <div class="cards">
        <Figure label={texts.cpu} text={percent(latest?.cpu ?? 0)}>
          <Sparkline label={texts.cpu} values={series.map(({ cpu }) => cpu)} top={HUNDRED} text={percent} />
        </Figure>
        <Figure label={texts.memory} text={percent(latest?.memory ?? 0)}>
          <Sparkline
            label={texts.memory}
            values={series.map(({ memory }) => memory)}
            top={HUNDRED}
            text={percent}
          />
        </Figure>
        <Figure label={texts.frames} text={rateText(latest?.frames ?? 0)}>
          <Sparkline label={texts.frames} values={series.map(({ frames }) => frames)} text={rateText} />
        </Figure>
        <Figure label={texts.drops} text={rateText(latest?.drops ?? 0)}>
          <Sparkline label={texts.drops} values={series.map(({ drops: rate }) => rate)} text={rateText} />
        </Figure>
        <Card title={texts.engines} isBroad>
          <table>
            <thead>
              <tr>
                {texts.engineColumns.map((title) => (
                  <th key={title} scope="col" class="number">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {figures.engines.map(({ labs, ports, restarts }, index) => (
                <tr key={index}>
                  <td class="number">{index}</td>
                  <td class="number">{countText(labs)}</td>
                  <td class="number">{countText(ports)}</td>
                  <td class="number">{rateText(engines[index] ?? 0)}</td>
                  <td class="number">{restarts > 0 ? `⚠ ${restarts}` : restarts}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Card>
        <Card title={texts.dropsByCause}>
          {dropped.length === 0 && <p class="hint">{texts.noDrops}</p>}
          <dl class="pairs">
            {dropped.map(([cause, rate]) => (
              <div key={cause}>
                <dt>{cause.replaceAll('_', ' ')}</dt>
                <dd>
                  {rateText(rate)}{' '}
                  <span class="hint">{texts.inAll(countText(figures.drops[cause] ?? 0))}</span>
                </dd>
              </div>
            ))}
          </dl>
        </Card>
        <Card title={texts.disks}>
          {figures.disks.map(({ part, size, free }) => (
            <Meter key={part} label={part} share={1 - free / size} text={texts.free(bytesText(free))} />
          ))}
        </Card>
        <Card title={texts.activity}>
          <dl class="pairs">
            <div>
              <dt>
                <a href={addressOf('labs')}>{texts.labs}</a>
              </dt>
              <dd>
                {texts.openOf(figures.projects.opened, figures.projects.opened + figures.projects.closed)}
              </dd>
            </div>
            <div>
              <dt>{texts.captures}</dt>
              <dd>{texts.captured(figures.captures.running, bytesText(figures.captures.octets))}</dd>
            </div>
            <div>
              <dt>{texts.uploads}</dt>
              <dd>{texts.uploading(figures.uploads.running, `${bytesText(figures.uploads.rate)}/s`)}</dd>
            </div>
            <div>
              <dt>{texts.jobs}</dt>
              <dd>{countText(figures.jobs)}</dd>
            </div>
          </dl>
        </Card>
        {may('admin') && <Examination />}
      </div>
    </div>
  );
}

interface CardProps {
  readonly title: string;
  readonly isBroad?: boolean;
  readonly children: ComponentChildren;
}

function Card({ title, isBroad, children }: CardProps): JSX.Element {
  return (
    <section class={isBroad === true ? 'card broad' : 'card'} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface FigureProps {
  readonly label: string;
  readonly text: string;
  readonly children: ComponentChildren;
}

function Figure({ label, text, children }: FigureProps): JSX.Element {
  return (
    <section class="card figure" aria-label={label}>
      <h2>
        {label} <strong>{text}</strong>
      </h2>
      {children}
    </section>
  );
}

/** Looks at the host when somebody asks for it: that writes to its disks. */
function Examination(): JSX.Element {
  const found = useSignal<ExaminationShape | undefined>(undefined);
  const isBusy = useSignal(false);
  const examine = async (): Promise<void> => {
    isBusy.value = true;
    try {
      found.value = await send(examineHost());
    } catch (error) {
      failed(error);
    }
    isBusy.value = false;
  };
  const wrong = (found.value?.checks ?? []).filter(({ level }) => level === 'warning' || level === 'failure');
  return (
    <Card title={texts.attention} isBroad>
      <p class="hint">
        {found.value === undefined ? texts.notExamined : texts.examined(found.value.checks.length)}
      </p>
      <Checks checks={wrong} />
      <button type="button" disabled={isBusy} onClick={() => void examine()}>
        {isBusy.value ? texts.examining : texts.examine}
      </button>
    </Card>
  );
}
