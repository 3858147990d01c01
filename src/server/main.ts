/** Entry of the program: checks what it runs on, reads the settings, and starts the server. Wiring only. */
import { ConfigError } from './config-error.js';
import { helpText, readCommand } from './config.js';
import { platformProblem } from './platform.js';

/** For `wirefarm doctor` this is a check that has failed. */
function exitWith(line: string): never {
  process.stderr.write(`wirefarm: ${line}\n`);
  process.exit(process.argv[2] === 'doctor' ? 2 : 1);
}

const problem = platformProblem();
if (problem !== undefined) exitWith(problem);

try {
  const command = readCommand(process.argv.slice(2), process.env);
  // Imported only now: what follows loads native code, which an unsupported platform does not have.
  const { PRODUCT } = await import('../base/product.js');
  if (command.run === 'serve' && command.config.checksStore) {
    const { checkStore } = await import('./store-check.js');
    process.stdout.write(`${await checkStore(command.config.state)}\n`);
  } else if (command.run === 'serve') {
    const { libraryProblem } = await import('./http-library.js');
    const foreign = libraryProblem();
    if (foreign !== undefined) exitWith(foreign);
    const [{ serve }, { Threads }] = await Promise.all([import('./serve.js'), import('./threads.js')]);
    const threads = new Threads(command.config);
    await serve(command.start, threads).catch(async (error: unknown) => {
      // A thread that is ended while it loads native code would abort the process.
      await threads.close();
      throw error;
    });
  } else if (command.run === 'doctor' && command.wishes !== undefined) {
    const { bundleHost } = await import('./doctor-bundle.js');
    process.exitCode = await bundleHost(command.config, command.given, command.wishes);
  } else if (command.run === 'doctor') {
    const { examineHost } = await import('./doctor.js');
    process.exitCode = await examineHost(command.config, command.isJson);
  } else {
    process.stdout.write(command.run === 'help' ? helpText() : `${PRODUCT.name} ${PRODUCT.version}\n`);
  }
} catch (error) {
  if (error instanceof ConfigError) exitWith(error.message);
  exitWith(error instanceof Error ? error.message : String(error));
}
