import t from 'tap';
import { ViewerClock, type Waiting } from '../../../src/captures/log/viewer-clock.js';
import { eventually } from '../../support/eventually.js';

class PaperViewer implements Waiting {
  isReady = false;
  woken = 0;
  looks = 0;
  readonly #work: () => void;

  constructor(work: () => void = () => undefined) {
    this.#work = work;
  }

  wake(): void {
    this.woken++;
    this.#work();
  }
}

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

void t.test('a viewer is woken once, when there is something', async (t) => {
  const clock = new ViewerClock();
  const [one, other] = [new PaperViewer(), new PaperViewer()];
  clock.wait(one);
  clock.wait(other);
  for (let ticks = 0; ticks < 5; ticks++) await tick();
  t.same([one.woken, other.woken], [0, 0]);
  one.isReady = true;
  await eventually('it is woken', () => (one.woken > 0 ? true : undefined));
  for (let ticks = 0; ticks < 5; ticks++) await tick();
  t.same([one.woken, other.woken], [1, 0]);
  clock.wait(one);
  await eventually('it is woken again', () => (one.woken > 1 ? true : undefined));
  clock.forget(other);
  other.isReady = true;
  for (let ticks = 0; ticks < 5; ticks++) await tick();
  t.equal(other.woken, 0);
});

void t.test('many are woken, each of them once, and those that left meanwhile not', async (t) => {
  const clock = new ViewerClock();
  const viewers = Array.from({ length: 200 }, (_, index) => {
    return new PaperViewer(() => {
      if (index === 0) for (const left of viewers.slice(100)) clock.forget(left);
    });
  });
  for (const viewer of viewers) {
    viewer.isReady = true;
    clock.wait(viewer);
  }
  await eventually('the last of those that stayed is woken', () =>
    viewers[99]?.woken === 1 ? true : undefined,
  );
  for (let ticks = 0; ticks < 5; ticks++) await tick();
  t.same(
    viewers.map(({ woken }) => woken),
    viewers.map((_, index) => (index < 100 ? 1 : 0)),
  );
});

void t.test('a viewer that waits again when woken has its next turn at the next look', async (t) => {
  const clock = new ViewerClock();
  const viewer = new PaperViewer(() => {
    if (viewer.woken < 3) clock.wait(viewer);
  });
  viewer.isReady = true;
  clock.wait(viewer);
  await eventually('it is woken three times', () => (viewer.woken === 3 ? true : undefined));
  for (let ticks = 0; ticks < 5; ticks++) await tick();
  t.equal(viewer.woken, 3);
});

void t.test('it ticks only while somebody waits, and holds up no end of the process', async (t) => {
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const clock = new ViewerClock();
  const viewer = new PaperViewer();
  clock.wait(viewer);
  t.equal(timers(), before, 'it does not count as something to wait for');
  viewer.isReady = true;
  await eventually('it is woken', () => (viewer.woken > 0 ? true : undefined));
  clock.forget(viewer);
  t.equal(viewer.woken, 1);
});
