/** Part 2 of 4 of the writers of files, each with all or many faults. */
import { testWriterFaults } from '../../support/writer-fault-tests.js';

await testWriterFaults(1, 4);
