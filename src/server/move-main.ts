/** Entry of `wirefarm farm join` and `wirefarm farm leave`: reads the settings as the server does, and tells what was carried. */
import { ConfigError } from './config-error.js';
import { readCommand, type Config } from './config.js';

const WRONG_COMMAND_LINE = 2;

function configOf(flags: readonly string[]): Config {
  const command = readCommand(flags, process.env);
  if (command.run === 'serve' && command.config.farm !== undefined) return command.config;
  throw new ConfigError('say which farm: --farm etcd://host:2379,host:2379');
}

try {
  const [action, ...flags] = process.argv.slice(3);
  const config = configOf(flags);
  const { joinFarm, leaveFarm } = await import('./store-moves.js');
  const { projects, records, digest, isResumed, staying } =
    action === 'join' ? { ...(await joinFarm(config)), staying: [] } : await leaveFarm(config);
  const where = action === 'join' ? 'in the farm' : `in ${config.state}`;
  const lines: string[] = [];
  if (records > 0) {
    lines.push(
      `${projects} projects are ${where} now: ${records} records, read back with the same digest (sha256 ${digest.slice(0, 16)}…)`,
      `the files of labs stay where they are, in ${config.projects} and ${config.images}`,
    );
  } else if (isResumed) lines.push(`what an earlier try has carried is ${where}: it was finished`);
  else lines.push('there is nothing to carry');
  if (staying.length > 0)
    lines.push(
      `these projects stay in the farm, as their folders are not in ${config.projects}: ${staying.join(', ')}`,
    );
  process.stdout.write(`${lines.join('\n')}\n`);
} catch (error) {
  const isUsage = error instanceof ConfigError;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`wirefarm: ${message}${isUsage ? ' (wirefarm farm --help)' : ''}\n`);
  process.exitCode = isUsage ? WRONG_COMMAND_LINE : 1;
}
