/**
 * Small uploads as fast as a few connections can: on each the next one is sent when the last one is answered. Speaks
 * just as much HTTP as that needs, because client and server share the machine.
 */
import { connect } from 'node:net';

export interface FloodPlan {
  readonly method: string;
  /** Where the next one goes; each has a place of its own. */
  readonly nextUrl: () => string;
  readonly body: Uint8Array;
  readonly connections: number;
  /** It ends when one of these is reached. */
  readonly seconds: number;
  readonly most: number;
}

export interface FloodReport {
  readonly seconds: number;
  /** Milliseconds of each upload. */
  readonly latencies: readonly number[];
}

const HEAD_END = '\r\n\r\n';

export async function flood(plan: FloodPlan): Promise<FloodReport> {
  const latencies: number[] = [];
  const start = performance.now();
  let begun = plan.connections;
  const wantsMore = (): boolean => {
    return performance.now() - start < plan.seconds * 1000 && begun++ < plan.most;
  };
  await Promise.all(Array.from({ length: plan.connections }, () => carry(plan, wantsMore, latencies)));
  return { seconds: (performance.now() - start) / 1000, latencies };
}

/** One connection, from its first upload to its last. */
function carry(
  { method, nextUrl, body }: FloodPlan,
  wantsMore: () => boolean,
  latencies: number[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const first = new URL(nextUrl());
    const socket = connect(Number(first.port), first.hostname);
    socket.setNoDelay(true);
    let sentAt = 0;
    let answer = '';
    const send = (url: URL): void => {
      const head = `${method} ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: ${body.length}`;
      sentAt = performance.now();
      socket.cork();
      socket.write(`${head}${HEAD_END}`);
      socket.write(body);
      socket.uncork();
    };
    socket.on('connect', () => {
      send(first);
    });
    socket.on('data', (bytes: Buffer) => {
      answer += bytes.toString('latin1');
      if (!isWhole(answer)) return;
      if (!answer.startsWith('HTTP/1.1 20')) {
        socket.destroy(new Error(`${method} was answered: ${answer}`));
        return;
      }
      latencies.push(performance.now() - sentAt);
      answer = '';
      if (wantsMore()) send(new URL(nextUrl()));
      else socket.end(resolve);
    });
    socket.on('error', reject);
    socket.on('close', () => {
      reject(new Error('the server has ended a connection'));
    });
  });
}

function isWhole(answer: string): boolean {
  const head = answer.indexOf(HEAD_END);
  if (head === -1) return false;
  const length = /^content-length: *(\d+)/im.exec(answer)?.[1] ?? '0';
  return answer.length >= head + HEAD_END.length + Number(length);
}
