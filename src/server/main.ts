/** Entry of the program: checks what it runs on, reads the settings, and starts the server. Wiring only. */
import { ConfigError } from './config-error.js';
import { helpText, readCommand } from './config.js';
import { platformProblem } from './platform.js';

function exitWith(line: string): never {
  process.stderr.write(`wirefarm: ${line}\n`);
  process.exit(1);
}

const problem = platformProblem();
if (problem !== undefined) exitWith(problem);

try {
  const command = readCommand(process.argv.slice(2), process.env);
  // Imported only now: what follows loads native code, which an unsupported platform does not have.
  const { PRODUCT } = await import('../base/product.js');
  if (command.run === 'serve') {
    const { serve } = await import('./serve.js');
    await serve(command.config);
  } else {
    process.stdout.write(command.run === 'help' ? helpText() : `${PRODUCT.name} ${PRODUCT.version}\n`);
  }
} catch (error) {
  if (error instanceof ConfigError) exitWith(error.message);
  exitWith(error instanceof Error ? error.message : String(error));
}
