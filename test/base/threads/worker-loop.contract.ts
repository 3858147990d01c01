/** The contract of every supervised loop, whatever its thread does. */
import t, { type Test } from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { eventually } from '../../support/eventually.js';
import { fastClock, heldChecks } from '../../support/held-checks.js';
import type { PaperLog } from '../../support/paper-log.js';

export interface SupervisedLoop {
  readonly restarts: number;
  kill(): void;
  close(): Promise<void>;
}

export interface SupervisedRig {
  readonly loop: SupervisedLoop;
  readonly log: PaperLog;
  /** Gives an order that any life answers. */
  readonly ask: () => Promise<unknown>;
  /** Gives an order that ends every thread which carries it out, with code 3. */
  readonly askForDeath: () => Promise<unknown>;
  /** Gives an order that never comes back. */
  readonly askToSpin: () => Promise<unknown>;
}

export function testSupervision(name: string, newRig: (t: Test) => SupervisedRig): void {
  void t.test(`${name} that is killed is started again, and the log says so`, async (t) => {
    fastClock(t);
    const { loop, log, ask } = newRig(t);
    await ask();
    loop.kill();
    await ask();
    t.equal(loop.restarts, 1);
    const reason = 'its thread was ended';
    t.match(log.lines[0], { msg: /^a .* died$/, reason });
    t.match(await eventually('the restart is told', () => log.lines[1]), {
      msg: /^a .* was restarted$/,
      reason,
      restarts: 1,
    });
  });

  void t.test(`${name} is not given for ever what it dies of`, async (t) => {
    fastClock(t);
    const { loop, ask, askForDeath } = newRig(t);
    await t.rejects(askForDeath(), {
      name: 'LoopDeath',
      message: /^the .* ended twice with the order .*: its thread exited with code 3$/,
    });
    await ask();
    t.equal(loop.restarts, 2);
  });

  void t.test(`${name} that hangs is started again`, async (t) => {
    fastClock(t);
    const check = heldChecks(t);
    const { loop, ask, askToSpin } = newRig(t);
    await ask();
    const lost = t.rejects(askToSpin(), { name: 'LoopDeath' });
    await eventually('it is ended', () => {
      if (loop.restarts > 0) return true;
      check();
      return undefined;
    });
    loop.kill();
    await lost;
    await ask();
    t.equal(loop.restarts, 2);
  });

  void t.test(`${name} is closed while it hangs, dies, or has nothing to do`, async (t) => {
    const [idle, hanging, dying] = [newRig(t), newRig(t), newRig(t)];
    await Promise.all([idle.ask(), hanging.ask(), dying.ask()]);
    const waiting = [hanging.askToSpin(), hanging.ask()];
    dying.loop.kill();
    waiting.push(dying.ask());
    const refused = waiting.map((answer) => t.rejects(answer, refusals.stopping()));
    const rigs = [idle, hanging, dying];
    await Promise.all(rigs.map(({ loop }) => loop.close()));
    await Promise.all(refused);
    for (const { loop, ask } of rigs) {
      t.equal(loop.restarts, 0);
      await t.rejects(ask(), refusals.stopping());
    }
  });
}
