/** Process entry: the keeper of the programs of nodes. It ends when no server wants it. */
import { runKeeper } from '../src/run/keeper/keeper-process.js';

const [folder = '', mark = ''] = process.argv.slice(2);
await runKeeper({ folder, mark, isOfServer: true });
