/** How the overview looks in answers. The console takes its type from here. */
import { z } from 'zod';

const count = z.number();

export const overview = z.strictObject({
  version: z.string(),
  /** Milliseconds of a clock that only goes forward: rates are differences by it. */
  time: z.number(),
  uptime_seconds: z.int(),
  cpu_usage_percent: z.number(),
  memory_usage_percent: z.number(),
  process_cpu_seconds: count,
  loop_busy_seconds: count,
  projects: z.strictObject({ opened: z.int(), closed: z.int() }),
  engines: z.array(
    z.strictObject({ labs: z.int(), ports: z.int(), restarts: z.int(), frames: count, octets: count }),
  ),
  drops: z.record(z.string(), count),
  disks: z.array(z.strictObject({ part: z.string(), size: count, free: count })),
  captures: z.strictObject({ running: z.int(), packets: count, octets: count, dropped: count }),
  uploads: z.strictObject({ running: z.int(), rate: count }),
  jobs: z.int(),
  web_ui: z.boolean(),
});
export type OverviewShape = z.output<typeof overview>;
