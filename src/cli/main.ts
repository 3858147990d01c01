#!/usr/bin/env node
/** The entry of the command-line program `wirefarm`, a client of a running server. */
import { runCommand } from './commands.js';

process.exitCode = await runCommand(process.argv.slice(2), process.env);
