/** Part 3 of 4 of the writers of files, each with all or many faults. */
import { testWriterFaults } from '../../support/writer-fault-tests.js';

await testWriterFaults(2, 4);
