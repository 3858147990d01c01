/** Runs the test files that it is given one after the other in this process, each as a test that bears its name. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

// The library names the folders of tests after all arguments of their process.
const files = process.argv.splice(2);
const { default: root, runIn } = await import('../dist/node_modules/tap/index.js');

for (const file of files) {
  await root.test(file, async (t) => {
    runIn(t);
    await import(pathToFileURL(resolve(file)).href);
  });
}
