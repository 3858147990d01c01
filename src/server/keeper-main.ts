/** Entry of the keeper as a service of its own: it reads the settings of the server. Wiring only. */
import { helpText, readCommand } from './config.js';
import { keepPrograms } from './keeper-service.js';

try {
  const command = readCommand(process.argv.slice(2), process.env);
  if (command.run === 'serve') await keepPrograms(command.config);
  else process.stdout.write(helpText());
} catch (error) {
  process.stderr.write(`wirefarm: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
