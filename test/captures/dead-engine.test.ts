/** An engine that dies in the middle of a capture comes back, and the capture goes on in the same file. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { RunningCaptures } from '../../src/captures/running-captures.js';
import { CaptureWriters } from '../../src/captures/writing/capture-writers.js';
import type { PieceReader } from '../../src/captures/log/log-file.js';
import type { CapturePlan } from '../../src/captures/capture.js';
import { captureFileTasks } from '../../src/captures/files/capture-file-tasks.js';
import { ViewerClock } from '../../src/captures/log/viewer-clock.js';
import { hostSockets } from '../../src/engine/sockets/host-sockets.js';
import { LINK_TYPE, pcapHeader } from '../../src/engine/wire/pcap.js';
import { FAULT } from '../support/engine-faults.js';
import { eventually } from '../support/eventually.js';
import { PaperReads } from '../support/file-reads.js';
import { heldChecks } from '../support/held-checks.js';
import { FAULTY_WORKER, LiveEngine, numbered, numbersOf } from '../support/live-engine.js';
import { CAPTURE_WORKER, newChorePool } from '../support/live-writer.js';
import { pcapFile } from '../support/pcap-records.js';
import { scratchFolder } from '../support/scratch.js';

const SNAPLEN = 65_535;
const QUOTA = 1024 ** 3;
const PORTIONS = 40;
const PORTION = 20;

function planOf(folder: string): CapturePlan {
  return {
    folder,
    path: 'captures/a.pcap',
    header: pcapHeader(LINK_TYPE.EN10MB, SNAPLEN),
    linkType: LINK_TYPE.EN10MB,
    format: 'pcap',
    packets: 'frames',
    snaplen: SNAPLEN,
    direction: 'both',
    sample: 1,
    bpf: undefined,
    files: 1,
    fileBytes: 0,
    maxOctets: 0,
    maxPackets: 0,
    maxSeconds: 0,
  };
}

/** Captures of what passes one engine. */
function capturesOf(t: Test, live: LiveEngine): RunningCaptures {
  const reads = new PaperReads();
  const run = (task: string, input: never): Promise<unknown> =>
    task === 'measureUsage'
      ? Promise.resolve(captureFileTasks.measureUsage(input))
      : reads.run('readPiece', input);
  const chores = newChorePool();
  const writers = new CaptureWriters({
    worker: CAPTURE_WORKER,
    chores,
    memories: [live.engine.memory.captures],
    log: pino({ level: 'silent' }),
    floorBytes: 0,
  });
  t.teardown(async () => {
    await writers.close();
    await chores.close();
  });
  const files = { run } as PieceReader;
  return new RunningCaptures({
    log: pino({ level: 'silent' }),
    writers,
    clock: new ViewerClock(),
    files,
    mended: { countedIn: () => [] },
    quotaBytes: () => QUOTA,
  });
}

const deaths: Readonly<Record<string, (live: LiveEngine) => void>> = {
  'is killed': ({ engine }) => {
    engine.kill();
  },
  throws: ({ engine }) => {
    engine.order({ do: 'inspect', device: FAULT.fail }).catch(() => undefined);
  },
  hangs: ({ engine }) => {
    engine.order({ do: 'inspect', device: FAULT.spin }).catch(() => undefined);
  },
};

for (const [how, die] of Object.entries(deaths)) {
  void t.test(`an engine that ${how}`, async (t) => {
    const check = how === 'hangs' ? heldChecks(t) : () => undefined;
    const live = new LiveEngine(t, await hostSockets(process.platform), FAULTY_WORKER);
    const device = live.newDevice();
    await device.install({ kind: 'ethernet_hub', settings: null });
    const near = await live.attachOutside(t, device, 1);
    const far = await live.attachOutside(t, device, 2);
    const folder = scratchFolder(t);
    const capture = await capturesOf(t, live).begin({ device, port: 2 }, planOf(folder), () => undefined);
    const seen: Buffer[] = [];
    const viewer = capture.view();
    viewer.onReady(() => undefined);

    let sent = 0;
    const send = async (): Promise<void> => {
      await near.peer.send(near.localPort, numbered(sent, PORTION));
      sent += PORTION;
    };
    for (let portions = 0; portions < PORTIONS; portions++) await send();
    die(live);
    for (let portions = 0; portions < PORTIONS; portions++) await send();
    await eventually('it is started again', () => {
      check();
      return live.reasons[0];
    });
    for (let portions = 0; portions < PORTIONS; portions++) await send();
    // The next engine is ordered to do what killed the last one, too, and may take the last frames with it.
    await eventually('the last one has arrived', async () => {
      check();
      if (numbersOf(far.peer.received.slice(-1))[0] === sent - 1) return true;
      await near.peer.send(near.localPort, numbered(sent++, 1));
      return undefined;
    });
    await capture.end();
    t.equal(capture.state, 'stopped');

    const file = readFileSync(join(folder, 'captures', 'a.pcap'));
    for (;;) {
      const piece = await viewer.next((bytes) => seen.push(Buffer.from(bytes)));
      if (piece === 'over' || piece === 'nothing') break;
      if (piece !== 'given') seen.push(Buffer.from(piece));
    }
    viewer.close();
    t.ok(Buffer.concat(seen).equals(file), 'who looks on has the file');
    const kept = numbersOf(pcapFile(file).packets);
    t.ok(
      kept.every((number, index) => index === 0 || number > (kept[index - 1] ?? 0)),
      'whole, and in order',
    );
    // A frame that was sent was recorded before.
    const recorded = new Set(kept);
    const missing = numbersOf(far.peer.received).filter((number) => !recorded.has(number));
    t.same(missing, [], 'everything that passed is there');
    t.equal(kept.at(-1), sent - 1);
  });
}
