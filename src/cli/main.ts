#!/usr/bin/env node
/** Entry of the command-line program `wirefarm`, which speaks to a running server. Wiring only. */
import { runCommand } from './commands.js';

process.exitCode = await runCommand(process.argv.slice(2), process.env);
